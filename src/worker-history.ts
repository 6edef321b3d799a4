import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Config } from './config/options.js';
import { Archive, type ArchiveReader } from './history/archive/archive.js';
import { Archiver } from './history/archive/archiver.js';
import { HistoryError } from './history/errors.js';
import { RedisHistoryStore, redisClientOptions } from './history/redis/store.js';
import { SqliteHistoryStore } from './history/sqlite/store.js';
import type { HistoryStore, PageQuery } from './history/store.js';
import { archiveMetrics, MeasuredHistory } from './metrics/history.js';
import { register } from './metrics/metric.js';

/** What keeps the messages, and how to let go of it. */
export interface KeptMessages {
  history: HistoryStore | undefined;
  archive: ArchiveReader | undefined;
  /** Whether messages could be kept at some time since the start: who never could should get no clients. */
  isReady(): boolean;
  close(): Promise<void>;
}

export interface HistorySurroundings {
  log: Logger;
  /** What does not work at present, for the health endpoints. */
  problems: Set<string>;
  /** Where the stores' metrics are registered. */
  registry: Registry;
  /** Whether this worker is the one that removes what is too old. */
  isTrimmer(): boolean;
  /** Told why the store cannot be opened, where that will not change by itself. */
  failed(reason: string): void;
}

const TRIM_INTERVAL = 60_000;
/** How long to wait before what could not be opened is tried again, in ms. */
const RETRY = 1000;
/** How long Redis may take before its absence is news, in ms. */
const REDIS_PATIENCE = 2000;
const NO_REDIS = 'Redis is away: messages cannot be kept';

/**
 * Opens the stores that the configuration asks for. Redis and the archive are not waited for: what needs them is refused
 * until they are there.
 */
export async function openHistory(config: Config, surroundings: HistorySurroundings): Promise<KeptMessages> {
  const { historyTtl: ttlMs, redisUrl, archiveUrl } = config;
  const { log, registry, isTrimmer } = surroundings;
  if (ttlMs === 0) {
    return { history: undefined, archive: undefined, isReady: () => true, close: async () => {} };
  }
  const opened = redisUrl ? connectRedis(redisUrl, ttlMs, surroundings) : await openSqlite(config, surroundings);
  const history = new MeasuredHistory(opened.store, registry);
  const archiving = archiveUrl ? new Archiving(archiveUrl, history, surroundings) : undefined;
  register(registry, [...history.metrics(), ...archiveMetrics(() => archiving?.archiver)]);
  const timer = setInterval(() => {
    if (isTrimmer()) history.trim(Date.now()).catch((error) => log.error({ error }, 'trimming the history failed'));
  }, TRIM_INTERVAL);
  return {
    history,
    archive: archiving?.reader,
    isReady: opened.isReady,
    close: async () => {
      clearInterval(timer);
      await archiving?.close();
      await history.close();
    },
  };
}

interface OpenedStore {
  store: HistoryStore;
  isReady(): boolean;
}

function connectRedis(url: string, ttlMs: number, { log, problems }: HistorySurroundings): OpenedStore {
  let isReady = false;
  let reason = 'no answer';
  const onError = (error: Error) => {
    reason = error.message || reason;
    log.debug({ error }, 'connection of the history');
  };
  const store = RedisHistoryStore.connect({ redis: clientOf(url, onError), ttlMs });
  const timer = setTimeout(() => {
    problems.add(NO_REDIS);
    log.error({ reason }, `${NO_REDIS}; this worker is not ready until it comes (REDIS_URL)`);
  }, REDIS_PATIENCE);
  void store.ready().then(() => {
    isReady = true;
    clearTimeout(timer);
    if (problems.delete(NO_REDIS)) log.info('Redis has come: messages are kept');
  });
  return { store, isReady: () => isReady };
}

function clientOf(url: string, onError: (error: Error) => void): Redis | Cluster {
  const nodes = url.split(',').map((node) => node.trim());
  const client =
    nodes.length === 1
      ? new Redis(url, redisClientOptions())
      : new Redis.Cluster(nodes, { redisOptions: redisClientOptions(), enableOfflineQueue: false });
  client.on('error', onError);
  return client;
}

/** A file that cannot be opened ends a start; a worker that is replaced later waits for it. */
async function openSqlite({ dataDir, historyTtl }: Config, { log, failed }: HistorySurroundings): Promise<OpenedStore> {
  for (;;) {
    try {
      const store = await SqliteHistoryStore.open({ dataDir: resolve(dataDir), ttlMs: historyTtl });
      return { store, isReady: () => true };
    } catch (error) {
      const { cause } = error as Error;
      log.error({ error }, 'the history cannot be opened');
      failed(`DATA_DIR must be a folder that can be written to, not "${dataDir}": ${(cause as Error)?.message}`);
      await sleep(RETRY);
    }
  }
}

/** The archive and its archiver, from whenever the database is there. */
class Archiving {
  readonly reader = new LateArchive();
  archiver: Archiver | undefined;
  private archive: Archive | undefined;
  private readonly stop = new AbortController();

  constructor(url: string, history: HistoryStore, surroundings: HistorySurroundings) {
    void this.open(url, history, surroundings);
  }

  async close(): Promise<void> {
    this.stop.abort();
    await this.archiver?.stop();
    await this.archive?.close();
  }

  private async open(url: string, history: HistoryStore, { log, problems }: HistorySurroundings): Promise<void> {
    const problem = 'the archive cannot be reached: what is said is archived when it can';
    const { signal } = this.stop;
    while (!signal.aborted) {
      try {
        this.archive = await Archive.open(url);
        if (signal.aborted) return await this.archive.close();
        this.archiver = new Archiver(history, this.archive, {
          onError: (error) => log.error({ error }, 'archiving failed'),
        });
        this.archiver.start();
        this.reader.opened(this.archive);
        if (problems.delete(problem)) log.info('the archive is there');
        return;
      } catch (error) {
        if (!problems.has(problem)) log.error({ error }, problem);
        problems.add(problem);
        await sleep(RETRY, undefined, { signal }).catch(() => {});
      }
    }
  }
}

/** An archive that may not be open yet: until then its readers are told that it cannot be reached. */
class LateArchive implements ArchiveReader {
  private archive: Archive | undefined;

  opened(archive: Archive): void {
    this.archive = archive;
  }

  async read(conversation: string, query: PageQuery): ReturnType<ArchiveReader['read']> {
    if (!this.archive) throw new HistoryError('HISTORY_UNAVAILABLE', new Error('the archive is not open yet'));
    return this.archive.read(conversation, query);
  }
}
