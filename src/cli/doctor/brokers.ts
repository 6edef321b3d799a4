import { brokerCause } from '../../cluster/backplanes/broker-cause.js';
import { framesChannel, hubsChannel, natsPackage } from '../../cluster/backplanes/channels.js';
import { sentinelOf } from '../../cluster/backplanes/redis/address.js';
import { connectOnce } from '../../cluster/backplanes/redis/connection.js';
import type { Config } from '../../host/config/options.js';
import type { Findings } from './findings.js';

/** Each Redis: whether it can be reached, and its settings. */
export async function checkRedis(found: Findings, url: string, config: Config): Promise<void> {
  const name = nameOf(url);
  const redis = connectOnce(url);
  let latest: unknown;
  redis.on('error', (error) => {
    latest = error;
  });
  const use = async () => {
    await redis.ping().catch((error) => Promise.reject(latest ?? error));
    return `${name} answers`;
  };
  const remedy = 'Check REDIS_URL, and that Redis runs.';
  if (await found.attempt(use, `${name} cannot be used`, remedy, 'REDIS_UNREACHABLE'))
    checkSettings(found, name, await redis.info().catch(() => ''), config);
  redis.disconnect();
}

function nameOf(url: string): string {
  const sentinel = sentinelOf(url);
  if (sentinel) return `Redis "${sentinel.name}" of Sentinel`;
  const { hostname, port } = new URL(url);
  return `Redis at ${hostname}:${port || 6379}`;
}

function checkSettings(found: Findings, name: string, info: string, config: Config): void {
  const value = (key: string) => new RegExp(`^${key}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  const [version, policy] = [value('redis_version'), value('maxmemory_policy')];
  if (version === '') return found.warn(`${name} does not allow INFO, so its settings are unknown. Allow +info.`);
  if (value('redis_mode') === 'sentinel')
    return found.fail(
      `${name} is a Sentinel. Name it as redis-sentinel://host:port/name in REDIS_URL, with the name of its master.`,
      'REDIS_COMMAND_REJECTED',
    );
  if (Number.parseFloat(version) < 6.2) found.fail(`${name} is version ${version}. Use 6.2 or later.`);
  if (value('role') === 'slave') found.fail(`${name} is a replica. Name its primary in REDIS_URL.`);
  if (config.historyTtl === 0) return;
  const isKept = value('aof_enabled') === '1';
  if (!isKept) found.warn(`${name} has no append-only file, so a restart loses messages. Set appendonly yes.`);
  if (value('maxmemory') === '0') found.warn(`${name} has no memory limit. Set maxmemory: it rejects messages then.`);
  else if (policy !== 'noeviction')
    found.fail(
      `${name} removes messages when it is full (${policy}). Set maxmemory-policy noeviction.`,
      'REDIS_EVICTS',
    );
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
