import type { Redis } from 'ioredis';
import { brokerCause } from '../../cluster/backplanes/broker-cause.js';
import { framesChannel, hubsChannel, natsPackage } from '../../cluster/backplanes/channels.js';
import { backplaneKindOf, backplaneNameOf } from '../../cluster/backplanes/index.js';
import { connectOnce } from '../../cluster/backplanes/redis/connection.js';
import type { Config } from '../../host/config/options.js';
import { redisNamesOf } from '../../host/config/redis-names.js';
import { type Findings, reasonOf } from './findings.js';

/** The commands of the history's scripts, on the key K. */
const historyCommands =
  'EVAL x 1 K, EVALSHA 0 1 K, HMGET K f, HSET K f v, HGETALL K, HDEL K f, GET K, SET K v, DEL K, XADD K * f v, XLEN K, ' +
  'XRANGE K - +, XREVRANGE K + -, XDEL K 1-0, XTRIM K MAXLEN 1, ZADD K 1 m, ZREM K m, ZRANGEBYSCORE K 0 1, ' +
  'PEXPIRE K 1000, PTTL K, TIME, INFO server';

/** Each Redis: whether it can be reached, its settings, and what it lets its user do. */
export async function checkRedis(found: Findings, url: string, config: Config): Promise<void> {
  const { hostname, port } = new URL(url);
  const name = `Redis at ${hostname}:${port || 6379}`;
  const redis = connectOnce(url);
  let latest: unknown;
  redis.on('error', (error) => {
    latest = error;
  });
  const use = async () => {
    await redis.ping().catch((error) => Promise.reject(latest ?? error));
    return `${name} answers`;
  };
  if (
    await found.attempt(use, `${name} cannot be used`, 'Check REDIS_URL, and that Redis runs.', 'REDIS_UNREACHABLE')
  ) {
    const info = await redis.info().catch(() => '');
    checkSettings(found, name, info, config);
    await checkRights(found, name, redis, config);
  }
  redis.disconnect();
}

const usesHistory = ({ historyTtl }: Config) => historyTtl > 0;

function checkSettings(found: Findings, name: string, info: string, config: Config): void {
  const value = (key: string) => new RegExp(`^${key}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  const [version, policy] = [value('redis_version'), value('maxmemory_policy')];
  if (version === '') return found.warn(`${name} does not allow INFO, so its settings are unknown. Allow +info.`);
  if (Number.parseFloat(version) < 6.2) found.fail(`${name} is version ${version}. Use 6.2 or later.`);
  if (value('role') === 'slave') found.fail(`${name} is a replica. Name its primary in REDIS_URL.`);
  if (!usesHistory(config)) return;
  const isKept = value('aof_enabled') === '1';
  if (!isKept) found.warn(`${name} has no append-only file, so a restart loses messages. Set appendonly yes.`);
  if (value('maxmemory') === '0') found.warn(`${name} has no memory limit. Set maxmemory: it rejects messages then.`);
  else if (policy !== 'noeviction')
    found.fail(
      `${name} removes messages when it is full (${policy}). Set maxmemory-policy noeviction.`,
      'REDIS_EVICTS',
    );
}

/** Redis checks the rights when it queues a command in a transaction, which is then discarded. */
async function checkRights(found: Findings, name: string, redis: Redis, config: Config) {
  const { channels, keys } = redisNamesOf(config);
  const { isClassic, server } = backplaneKindOf(backplaneNameOf(config));
  const usesBus = server === 'Redis';
  const stock = `${channels}#/#`;
  const hub = `${hubsChannel(channels, isClassic)}:doctor`;
  const [sent, heard] = isClassic ? [`${channels}#d`, `${channels}-request#/d#`] : [hub, framesChannel(channels)];
  const queued = usesBus ? [sent, hub].map((channel) => ['PUBLISH', channel, 'x']) : [];
  const key = `${keys}{history:0}:doctor`;
  const words = (text: string) => text.split(' ').map((word) => (word === 'K' ? key : word));
  if (usesHistory(config)) queued.push(...historyCommands.split(', ').map(words));
  // Redis compares a pattern with the allowed ones literally, so it must be the one that the backplane uses.
  const subscribe = usesBus
    ? [...(isClassic ? [['PSUBSCRIBE', `${stock}*`]] : []), ['SUBSCRIBE', heard], ['SUBSCRIBE', hub]]
    : [];
  const rejected = new Set<string>();
  for (const [command, ...args] of [['MULTI'], ...queued, ['DISCARD'], ...subscribe]) {
    await redis.call(command!, ...args).catch((error) => {
      // The key may belong to another node of the cluster.
      if (reasonOf(error).startsWith('MOVED') || rejected.has(command!)) return;
      rejected.add(command!);
      const remedy = 'Allow it with ACL SETUSER, or make room if Redis is full.';
      found.fail(`${name} rejects ${command}: ${reasonOf(error)}. ${remedy}`, 'REDIS_COMMAND_REJECTED');
    });
  }
  if (rejected.size === 0) found.ok(`${name} allows the commands that the server uses`);
}

/** The servers of NATS, as its package tries them. */
export async function checkNats(found: Findings, { natsUrl, natsCreds, natsPrefix }: Config): Promise<void> {
  const { diagnose } = await natsPackage();
  const hubs = hubsChannel(natsPrefix);
  const channels = [framesChannel(natsPrefix), hubs, `${hubs}:doctor`];
  for (const { level, text, code } of await diagnose({ url: natsUrl!, credentials: natsCreds }, channels)) {
    if (level === 'fail') found.fail(text, brokerCause(text)?.code ?? code);
    else found[level](text);
  }
}
