import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { own } from '../../../base/owner.js';
import {
  type Archiving,
  type HistoryStore,
  openArchive,
  RedisHistoryStore,
  redisClientOptions,
  SqliteHistoryStore,
  StoreHealth,
} from '../../../features/history/index.js';
import type { Config, MachineWorker } from '../../../host/index.js';
import { type RevocationStore, redisRevocations, sqliteRevocations } from '../../accounts/revocation-stores.js';

/** The stores that keep the messages. */
export interface KeptMessages {
  history: HistoryStore | undefined;
  /** Has what the history no longer has. */
  archive: Archiving | undefined;
  /** Where revoked tokens are kept; undefined if nothing is. */
  revocations: RevocationStore | undefined;
  /** Tells the operator that messages were lost; undefined if nothing is kept. */
  loss: StoreHealth['loss'] | undefined;
  /** Whether messages could be kept at some time since the start. A worker that never could gets no clients. */
  isReady(): boolean;
  close(): Promise<void>;
}

const TRIM_INTERVAL_MS = 60_000;
/** How long until another attempt to open a store. */
const RETRY_MS = 1000;

/**
 * Loads and opens the stores that the configuration names. It does not wait for Redis and the archive: calls that need
 * them are rejected until they can be reached.
 */
export async function openHistory(config: Config, worker: MachineWorker): Promise<KeptMessages> {
  const { historyTtl: ttlMs, archiveUrl } = config;
  const { log, figures } = worker;
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
  const opened = (await connectRedis(config, worker)) ?? (await openSqlite(config, worker));
  const { health } = opened;
  const { loss, store: history } = health;
  const archiving = archiveUrl ? await openArchive(archiveUrl, history) : undefined;
  figures.add(health.readings);
  const timer = setInterval(() => {
    if (worker.isLeader())
      health.trim(Date.now()).catch((error) => log.error({ error }, 'trimming the history failed'));
  }, TRIM_INTERVAL_MS);
  return {
    history,
    archive: archiving,
    revocations: opened.revocations,
    loss,
    isReady: () => health.isReady,
    close: async () => {
      clearInterval(timer);
      health.close();
      await archiving?.close();
      await history.close();
    },
  };
}

interface OpenedStore {
  health: StoreHealth;
  revocations: RevocationStore;
}

async function connectRedis({ historyTtl: ttlMs }: Config, worker: MachineWorker): Promise<OpenedStore | undefined> {
  const opened = await worker.openRedis(redisClientOptions());
  if (!opened) return undefined;
  const { redis, keyPrefix } = opened;
  redis.on('error', (error: Error) => worker.log.debug({ error }, 'connection of the history'));
  const store = RedisHistoryStore.connect({ redis, ttlMs, keyPrefix });
  const health = new StoreHealth(store, 'Redis');
  return { health, revocations: redisRevocations(redis, `${keyPrefix}revocations`) };
}

/** A file that cannot be opened makes the start fail. A worker that is started later tries until it can be opened. */
async function openSqlite(config: Config, worker: MachineWorker): Promise<OpenedStore> {
  const { dataDir, historyTtl: ttlMs, historyMaxBytes: maxBytes } = config;
  for (;;) {
    try {
      const store = await SqliteHistoryStore.open({ dataDir: resolve(dataDir), ttlMs, ...(maxBytes && { maxBytes }) });
      const health = new StoreHealth(store, 'DATA_DIR');
      return { health, revocations: sqliteRevocations(resolve(dataDir)) };
    } catch (error) {
      const { cause } = error as Error;
      // The primary reports the reason. The stack matters only for a search in the code.
      worker.log.debug({ error }, 'the history cannot be opened');
      const reason = `DATA_DIR must be a folder that can be written to, not "${dataDir}": ${(cause as Error)?.message}`;
      own('ending the worker', worker.failed(reason));
      await sleep(RETRY_MS);
    }
  }
}
