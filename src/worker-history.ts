import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Config } from './config/options.js';
import { Archive } from './history/archive.js';
import { Archiver } from './history/archiver.js';
import { RedisHistoryStore, redisClientOptions } from './history/redis.js';
import { SqliteHistoryStore } from './history/sqlite.js';
import type { HistoryStore } from './history/store.js';

/** What keeps the messages, and how to let go of it. */
export interface KeptMessages {
  history: HistoryStore | undefined;
  archive: Archive | undefined;
  close(): Promise<void>;
}

const TRIM_INTERVAL = 60_000;
/** How long to wait before a store that could not be opened is tried again, in ms. */
const RETRY = 1000;

/**
 * Opens the stores that the configuration asks for. A store that cannot be reached is waited for: a chat that cannot
 * keep what it acknowledges must not start.
 * @param isTrimmer whether this worker is the one that removes what is too old
 */
export async function openHistory(config: Config, log: Logger, isTrimmer: () => boolean): Promise<KeptMessages> {
  const { historyTtl: ttlMs, redisUrl, archiveUrl } = config;
  if (ttlMs === 0) return { history: undefined, archive: undefined, close: async () => {} };
  const history = await untilOpen('the history', log, () =>
    redisUrl ? openRedis(redisUrl, ttlMs, log) : SqliteHistoryStore.open({ dataDir: resolve(config.dataDir), ttlMs }),
  );
  const archive = archiveUrl ? await untilOpen('the archive', log, () => Archive.open(archiveUrl)) : undefined;
  const archiver =
    archive && new Archiver(history, archive, { onError: (error) => log.error({ error }, 'archiving failed') });
  archiver?.start();
  const timer = setInterval(() => {
    if (isTrimmer()) history.trim(Date.now()).catch((error) => log.error({ error }, 'trimming the history failed'));
  }, TRIM_INTERVAL);
  return {
    history,
    archive,
    close: async () => {
      clearInterval(timer);
      await archiver?.stop();
      await archive?.close();
      await history.close();
    },
  };
}

async function openRedis(url: string, ttlMs: number, log: Logger): Promise<HistoryStore> {
  const onError = (error: Error) => log.debug({ error }, 'connection of the history');
  const nodes = url.split(',').map((node) => node.trim());
  if (nodes.length === 1) return RedisHistoryStore.open({ redis: url, ttlMs, onError });
  const cluster = new Redis.Cluster(nodes, { redisOptions: redisClientOptions(), enableOfflineQueue: false });
  cluster.on('error', onError);
  return RedisHistoryStore.open({ redis: cluster, ttlMs });
}

async function untilOpen<T>(what: string, log: Logger, open: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await open();
    } catch (error) {
      if (attempt === 1) log.error({ error }, `${what} cannot be opened: the start waits for it`);
      await sleep(RETRY);
    }
  }
}
