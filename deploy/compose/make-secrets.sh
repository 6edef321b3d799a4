#!/bin/sh
# Makes random secrets in ./secrets for compose.yaml. Secrets that exist stay as they are.
set -eu
cd "$(dirname "$0")"
# The folder protects the files on this machine; in the containers, users without rights must be able to read them.
mkdir -p -m 700 secrets
cd secrets

random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
keep() { [ -e "$1" ] || { cat >"$1" && chmod 644 "$1"; }; }

random | keep admin-password
random | keep grafana-password
random | keep jwt-secret

if [ ! -e redis-url ]; then
  password=$(random)
  # docs/operations/redis.md, "Rights", has the line for other backplanes.
  cat >redis-users <<END
user default off
user gjallar on >$password resetkeys ~gjallar:* resetchannels &socket.io* &socket.io#/#* -@all +ping +info +select +time +subscribe +psubscribe +unsubscribe +punsubscribe +publish +pubsub|numsub +eval +evalsha +exists +get +set +del +hset +hmget +pexpire +xadd +xlen +xrange +xrevrange +xtrim +xdel +pttl +hgetall +hdel +hscan +zadd +zrem +zcard +zrangebyscore
END
  chmod 644 redis-users
  printf 'redis://gjallar:%s@redis:6379' "$password" | keep redis-url
fi
