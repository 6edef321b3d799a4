import type { Redis } from 'ioredis';
import { framesChannel } from '../../backplanes/frames/machines/pub-sub.js';
import { type BackplaneName, backplaneNameOf } from '../../backplanes/index.js';
import { stockChannel } from '../../backplanes/other-wire.js';
import { connectOnce } from '../../backplanes/redis/connection.js';
import { redisUrls } from '../../backplanes/redis/urls.js';
import type { Config } from '../../config/options.js';
import { redisNamesOf } from '../../config/redis-names.js';
import { type Finding, fail, ok, reasonOf, warn } from './finding.js';

const MAX_CLOCK_DIFFERENCE_MS = 1000;

/** Redis: whether it can be reached, what it lets its user do, and its settings. */
export async function checkRedis(config: Config): Promise<Finding[]> {
  if (!config.redisUrl) return [];
  const nodes = await Promise.all(redisUrls(config.redisUrl).map((url) => checkNode(url, config)));
  return nodes.flat();
}

async function checkNode(url: string, config: Config): Promise<Finding[]> {
  const redis = connectOnce(url);
  let latest: Error | undefined;
  redis.on('error', (error: Error) => {
    latest = error;
  });
  const { hostname, port } = new URL(url);
  const name = `Redis at ${hostname}:${port || 6379}`;
  try {
    await redis.ping();
  } catch (error) {
    redis.disconnect();
    return [fail(`${name} cannot be used: ${reasonOf(latest ?? error)}. Check REDIS_URL, and that Redis runs.`)];
  }
  try {
    const info = await redis.info().catch(() => undefined);
    return [
      ok(`${name} answers`),
      ...settings(name, info, config),
      ...(await rights(redis, name, info, config)),
      await clock(redis),
    ];
  } finally {
    redis.disconnect();
  }
}

function settings(name: string, info: string | undefined, { historyTtl, historyStore }: Config): Finding[] {
  if (info === undefined) return [warn(`${name} does not allow INFO, so its settings are unknown. Allow +info.`)];
  const value = (key: string) => new RegExp(`^${key}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  const findings: Finding[] = [];
  const version = value('redis_version');
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < 6 || (major === 6 && minor < 2)) findings.push(fail(`${name} is version ${version}. Use 6.2 or later.`));
  if (value('role') === 'slave') findings.push(fail(`${name} is a replica. Name its primary in REDIS_URL.`));
  if (historyTtl === 0 || historyStore === 'sqlite') return findings;
  if (value('aof_enabled') !== '1') {
    findings.push(warn(`${name} has no append-only file, so a restart loses messages. Set appendonly yes.`));
  }
  if (value('maxmemory') === '0') {
    findings.push(
      warn(`${name} has no memory limit. Set maxmemory, so that it rejects messages before the memory is full.`),
    );
  } else if (value('maxmemory_policy') !== 'noeviction') {
    const policy = value('maxmemory_policy');
    findings.push(fail(`${name} removes messages when it is full (${policy}). Set maxmemory-policy noeviction.`));
  }
  return findings;
}

/** Tries each command in a transaction that is discarded: Redis checks the rights when it queues a command. */
async function rights(redis: Redis, name: string, info: string | undefined, config: Config): Promise<Finding[]> {
  const { channels, keys } = redisNamesOf(config);
  const isCluster = /^cluster_enabled:1/m.test(info ?? '');
  const bus = backplaneNameOf(config, isCluster);
  const tried = [...busCommands(bus, channels)];
  if (config.historyTtl > 0 && config.historyStore !== 'sqlite')
    tried.push(...historyCommands(`${keys}{history:0}:doctor`));
  const rejected = new Map<string, string>();
  for (const [command, ...args] of tried) {
    try {
      await redis.call('MULTI');
      await redis.call(command!, ...args);
    } catch (error) {
      const reason = reasonOf(error);
      // The key may belong to another node of the cluster.
      if (!reason.startsWith('MOVED')) rejected.set(command!, reason);
    } finally {
      await redis.call('DISCARD').catch(() => {});
    }
  }
  for (const [command, channel] of subscriptions(bus, channels)) {
    const subscriber = connectOnce(redis);
    try {
      await subscriber.call(command, channel);
    } catch (error) {
      const reason = reasonOf(error);
      if (!reason.startsWith('MOVED')) rejected.set(command, reason);
    } finally {
      subscriber.disconnect();
    }
  }
  if (rejected.size === 0) return [ok(`${name} allows the ${tried.length} commands that the server uses`)];
  return [...rejected].map(([command, reason]) =>
    fail(`${name} rejects ${command}: ${reason}. Allow it with ACL SETUSER, or make room if Redis is full.`),
  );
}

function busCommands(bus: BackplaneName, channels: string): string[][] {
  if (bus === 'redis') return [['PUBLISH', `${channels}#doctor`, 'x']];
  if (bus === 'redis-frames') return [['PUBLISH', framesChannel(channels), 'x']];
  if (bus === 'redis-frames-sharded') {
    return [
      ['SPUBLISH', framesChannel(channels), 'x'],
      ['CLUSTER', 'SLOTS'],
    ];
  }
  return [];
}

function subscriptions(bus: BackplaneName, channels: string): [string, string][] {
  if (bus === 'redis') {
    return [
      // Redis compares a pattern with the allowed ones literally, so it must be the one that the backplane uses.
      ['PSUBSCRIBE', `${stockChannel(channels)}*`],
      ['SUBSCRIBE', `${channels}-request#/doctor#`],
    ];
  }
  if (bus === 'redis-frames') {
    return [
      ['PSUBSCRIBE', `${stockChannel(channels)}*`],
      ['SUBSCRIBE', framesChannel(channels)],
    ];
  }
  if (bus === 'redis-frames-sharded') {
    return [
      ['SSUBSCRIBE', stockChannel(channels)],
      ['SSUBSCRIBE', framesChannel(channels)],
    ];
  }
  return [];
}

/** The commands of the history's scripts. */
function historyCommands(key: string): string[][] {
  return [
    ...[
      ['EVAL', "return redis.call('EXISTS', KEYS[1])", '1', key],
      ['EVALSHA', '0'.repeat(40), '1', key],
    ],
    ...[
      ['HMGET', key, 'f'],
      ['HSET', key, 'f', 'v'],
      ['HGETALL', key],
      ['HDEL', key, 'g'],
      ['GET', key],
      ['SET', key, 'v'],
      ['DEL', key],
    ],
    ...[
      ['XADD', key, '*', 'f', 'v'],
      ['XLEN', key],
      ['XRANGE', key, '-', '+'],
      ['XREVRANGE', key, '+', '-'],
    ],
    ...[
      ['XDEL', key, '1-0'],
      ['XTRIM', key, 'MAXLEN', '1'],
      ['ZADD', key, '1', 'm'],
      ['ZREM', key, 'm'],
      ['ZRANGEBYSCORE', key, '0', '1'],
    ],
    ...[['PEXPIRE', key, '1000'], ['PTTL', key], ['TIME'], ['INFO', 'server']],
  ];
}

async function clock(redis: Redis): Promise<Finding> {
  try {
    const before = Date.now();
    const [seconds, microseconds] = await redis.time();
    const after = Date.now();
    const theirs = Number(seconds) * 1000 + Number(microseconds) / 1000;
    const difference = Math.round(Math.max(before - theirs, theirs - after, 0));
    if (difference <= MAX_CLOCK_DIFFERENCE_MS) return ok('the clock agrees with that of Redis');
    return warn(`the clock is ${difference} ms away from that of Redis. Synchronise both (NTP).`);
  } catch (error) {
    return warn(`the clock of Redis is unknown: ${reasonOf(error)}. Allow +time.`);
  }
}
