import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Figures } from '../../../base/figures.js';
import {
  type HistoryStore,
  openArchive,
  RedisHistoryStore,
  redisClientOptions,
  SqliteHistoryStore,
  StoreHealth,
} from '../../../features/history/index.js';
import type { Config } from '../../../host/config/options.js';
import { redisNamesOf } from '../../../host/config/redis-names.js';
import { redisClient } from '../../../host/runtime/redis-client.js';
import type { RevocationStore } from '../../accounts/revocations.js';
import { RedisRevocations, SqliteRevocations } from '../revocations.js';

/** Reads what the history no longer has. */
export type LateArchive = Awaited<ReturnType<typeof openArchive>>['reader'];

/** The stores that keep the messages. */
export interface KeptMessages {
  history: HistoryStore | undefined;
  archive: LateArchive | undefined;
  /** Where revoked tokens are kept; undefined if nothing is. */
  revocations: RevocationStore | undefined;
  /** Tells the operator that messages were lost; undefined if nothing is kept. */
  loss: StoreHealth['loss'] | undefined;
  /** Whether messages could be kept at some time since the start. A worker that never could gets no clients. */
  isReady(): boolean;
  close(): Promise<void>;
}

export interface HistorySurroundings {
  log: Logger;
  /** Where those of the stores are added. */
  figures: Figures;
  /** Whether this worker is the one that removes old messages. */
  isTrimmer(): boolean;
  /** Told why the store cannot be opened, if a later attempt would not help. */
  failed(reason: string): void;
}

const TRIM_INTERVAL_MS = 60_000;
/** How long until another attempt to open a store. */
const RETRY_MS = 1000;

/**
 * Loads and opens the stores that the configuration names. It does not wait for Redis and the archive: calls that need
 * them are rejected until they can be reached.
 */
export async function openHistory(config: Config, surroundings: HistorySurroundings): Promise<KeptMessages> {
  const { historyTtl: ttlMs, redisUrl, archiveUrl } = config;
  const { log, figures, isTrimmer } = surroundings;
  if (ttlMs === 0) {
    return {
      history: undefined,
      archive: undefined,
      revocations: undefined,
      loss: undefined,
      isReady: () => true,
      close: async () => {},
    };
  }
  const opened = redisUrl
    ? await connectRedis({ ...config, redisUrl }, surroundings)
    : await openSqlite(config, surroundings);
  const { health } = opened;
  const { loss, store: history } = health;
  const archiving = archiveUrl ? await openArchive(archiveUrl, history) : undefined;
  figures.add(history.readings);
  const timer = setInterval(() => {
    if (isTrimmer()) history.trim(Date.now()).catch((error) => log.error({ error }, 'trimming the history failed'));
  }, TRIM_INTERVAL_MS);
  return {
    history,
    archive: archiving?.reader,
    revocations: opened.revocations,
    loss,
    isReady: () => health.isReady,
    close: async () => {
      clearInterval(timer);
      health.close();
      await archiving?.close();
      opened.revocations.close?.();
      await history.close();
    },
  };
}

interface OpenedStore {
  health: StoreHealth;
  revocations: RevocationStore;
}

async function connectRedis(
  config: Config & { redisUrl: string },
  { log, isTrimmer }: HistorySurroundings,
): Promise<OpenedStore> {
  const redis = await redisClient(config, redisClientOptions());
  redis.on('error', (error: Error) => log.debug({ error }, 'connection of the history'));
  const keyPrefix = redisNamesOf(config).keys;
  const store = RedisHistoryStore.connect({ redis, ttlMs: config.historyTtl, keyPrefix });
  const health = new StoreHealth(store, 'Redis', { isTrimmer });
  return { health, revocations: new RedisRevocations(redis, `${keyPrefix}revocations`) };
}

/** A file that cannot be opened makes the start fail. A worker that is started later tries until it can be opened. */
async function openSqlite(config: Config, { log, isTrimmer, failed }: HistorySurroundings): Promise<OpenedStore> {
  const { dataDir, historyTtl: ttlMs, historyMaxBytes: maxBytes } = config;
  for (;;) {
    try {
      const store = await SqliteHistoryStore.open({ dataDir: resolve(dataDir), ttlMs, ...(maxBytes && { maxBytes }) });
      const health = new StoreHealth(store, 'DATA_DIR', { isTrimmer });
      return { health, revocations: new SqliteRevocations(resolve(dataDir)) };
    } catch (error) {
      const { cause } = error as Error;
      // The primary reports the reason. The stack matters only for a search in the code.
      log.debug({ error }, 'the history cannot be opened');
      failed(`DATA_DIR must be a folder that can be written to, not "${dataDir}": ${(cause as Error)?.message}`);
      await sleep(RETRY_MS);
    }
  }
}
