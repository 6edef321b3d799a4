#!/usr/bin/env bash
# Sees to it that the programs which the tests start are there: with apt-get where that is possible, else by saying
# what is missing. Quick when nothing is. The tests start them on free ports, with data of their own; what Debian's
# packages would start or enable by themselves stays off.
set -euo pipefail

is_there() {
  case $1 in
    redis-server) command -v redis-server ;;
    chromium) command -v "${CHROMIUM:-/usr/bin/chromium}" ;;
    # Debian keeps each version's programs in a folder that is not in the path.
    postgresql) command -v postgres || compgen -G '/usr/lib/postgresql/*/bin/postgres' ;;
    mariadb-server) command -v mariadbd || test -x /usr/sbin/mariadbd ;;
    openssl) command -v openssl ;;
    # Several hosts on one machine.
    iproute2) command -v ip ;;
  esac >/dev/null
}

# Runs as root.
install() {
  local policy=/usr/sbin/policy-rc.d kept=''
  export DEBIAN_FRONTEND=noninteractive
  # While this says 101, no package starts its service. One that the machine has is put back afterwards.
  if [ -e "$policy" ]; then
    kept=$(mktemp "$policy.XXXXXX")
    mv "$policy" "$kept"
  fi
  # shellcheck disable=SC2064
  trap "rm -f '$policy'; if [ -n '$kept' ]; then mv '$kept' '$policy'; fi" EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  local apt=(apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
  "${apt[@]}" update
  "${apt[@]}" install -y --no-install-recommends "$@"
  for service in redis-server postgresql mariadb; do
    # Only what has just come is switched off, not what the machine had before.
    case " $* " in *" $service"*) ;; *) continue ;; esac
    deb-systemd-helper disable "$service.service" || true
    if [ -e "/etc/init.d/$service" ]; then update-rc.d "$service" disable || true; fi
  done >/dev/null 2>&1
}

if [ "${1:-}" = --install ]; then
  shift
  install "$@"
  exit
fi

missing=()
for package in redis-server chromium postgresql mariadb-server openssl iproute2; do
  is_there "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then as_root=(sudo -n); fi
if ! command -v apt-get >/dev/null || ! "${as_root[@]}" env true 2>/dev/null; then
  echo "The tests need ${missing[*]}. Install them, for instance with: sudo apt-get install ${missing[*]}" >&2
  exit 1
fi
echo "The tests need ${missing[*]}: installing."
"${as_root[@]}" bash "$0" --install "${missing[@]}"
