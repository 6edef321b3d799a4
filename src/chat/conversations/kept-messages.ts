import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Config } from '../../config/options.js';
import { redisNamesOf } from '../../config/redis-names.js';
import { Archive, type ArchiveReader } from '../../history/archive/archive.js';
import { Archiver } from '../../history/archive/archiver.js';
import { HistoryError } from '../../history/errors.js';
import { archiveMetrics, MeasuredHistory } from '../../history/metrics.js';
import { OutageLog } from '../../history/outage-log.js';
import { RedisHistoryStore, redisClientOptions } from '../../history/redis/store.js';
import { SqliteHistoryStore } from '../../history/sqlite/store.js';
import type { HistoryStore, PageQuery } from '../../history/store.js';
import { register } from '../../operations/metrics/metric.js';
import { redisClient } from '../../runtime/redis-client.js';

/** The stores that keep the messages. */
export interface KeptMessages {
  history: HistoryStore | undefined;
  archive: ArchiveReader | undefined;
  /** Whether messages could be kept at some time since the start. A worker that never could gets no clients. */
  isReady(): boolean;
  close(): Promise<void>;
}

export interface HistorySurroundings {
  log: Logger;
  /** What is down at present, for the health endpoints. */
  problems: Set<string>;
  /** Where the stores' metrics are registered. */
  registry: Registry;
  /** Whether this worker is the one that removes old messages. */
  isTrimmer(): boolean;
  /** Told why the store cannot be opened, if a later attempt would not help. */
  failed(reason: string): void;
}

const TRIM_INTERVAL_MS = 60_000;
/** How long until another attempt to open a store. */
const RETRY_MS = 1000;
/** How long Redis may take to answer before it is reported as unreachable. */
const REDIS_GRACE_MS = 2000;
const NO_REDIS = 'Redis is unreachable: messages cannot be stored';

/**
 * Opens the stores that the configuration names. It does not wait for Redis and the archive: calls that need them are
 * rejected until they can be reached.
 */
export async function openHistory(config: Config, surroundings: HistorySurroundings): Promise<KeptMessages> {
  const { historyTtl: ttlMs, historyStore, redisUrl, archiveUrl } = config;
  const { log, registry, isTrimmer } = surroundings;
  if (ttlMs === 0) {
    return { history: undefined, archive: undefined, isReady: () => true, close: async () => {} };
  }
  const opened =
    redisUrl && historyStore !== 'sqlite'
      ? await connectRedis({ ...config, redisUrl }, surroundings)
      : await openSqlite(config, surroundings);
  const outages = new OutageLog(log, 'the history');
  const onOutcome = (error: HistoryError | undefined) => outages.note(error);
  const history = new MeasuredHistory(opened.store, { registry, isTrimmer, onOutcome });
  const archiving = archiveUrl ? new Archiving(archiveUrl, history, surroundings) : undefined;
  register(registry, [...history.metrics(), ...archiveMetrics(() => archiving?.archiver)]);
  const timer = setInterval(() => {
    if (isTrimmer()) history.trim(Date.now()).catch((error) => log.error({ error }, 'trimming the history failed'));
  }, TRIM_INTERVAL_MS);
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

async function connectRedis(
  config: Config & { redisUrl: string },
  { log, problems }: HistorySurroundings,
): Promise<OpenedStore> {
  let isReady = false;
  let reason = 'no answer';
  const onError = (error: Error) => {
    reason = error.message || reason;
    log.debug({ error }, 'connection of the history');
  };
  const redis = await redisClient(config, redisClientOptions());
  redis.on('error', onError);
  const keyPrefix = redisNamesOf(config).keys;
  const store = RedisHistoryStore.connect({ redis, ttlMs: config.historyTtl, keyPrefix });
  const timer = setTimeout(() => {
    problems.add(NO_REDIS);
    log.error({ reason }, `${NO_REDIS}; this worker is not ready until it can connect (REDIS_URL)`);
  }, REDIS_GRACE_MS);
  void store.ready().then(() => {
    isReady = true;
    clearTimeout(timer);
    if (problems.delete(NO_REDIS)) log.info('Redis is up: messages are stored');
  });
  return { store, isReady: () => isReady };
}

/** A file that cannot be opened makes the start fail. A worker that is started later tries until it can be opened. */
async function openSqlite(config: Config, { log, failed, isTrimmer }: HistorySurroundings): Promise<OpenedStore> {
  const { dataDir, historyTtl: ttlMs, historyMaxBytes } = config;
  const maxBytes = historyMaxBytes === 0 ? undefined : historyMaxBytes;
  const onOpenFolder = (mode: number) => {
    // One worker's warning is enough.
    if (!isTrimmer()) return;
    log.warn(
      { mode: mode.toString(8) },
      `other users of this machine can look into DATA_DIR "${dataDir}". Run chmod 700 on it.`,
    );
  };
  for (;;) {
    try {
      const store = await SqliteHistoryStore.open({ dataDir: resolve(dataDir), ttlMs, maxBytes, onOpenFolder });
      return { store, isReady: () => true };
    } catch (error) {
      const { cause } = error as Error;
      log.error({ error }, 'the history cannot be opened');
      failed(`DATA_DIR must be a folder that can be written to, not "${dataDir}": ${(cause as Error)?.message}`);
      await sleep(RETRY_MS);
    }
  }
}

/** The archive and its archiver, which start when the database can be reached. */
class Archiving {
  readonly reader: LateArchive;
  archiver: Archiver | undefined;
  private archive: Archive | undefined;
  private readonly stop = new AbortController();

  constructor(url: string, history: HistoryStore, surroundings: HistorySurroundings) {
    this.reader = new LateArchive(new OutageLog(surroundings.log, 'reading the archive'));
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
        await sleep(RETRY_MS, undefined, { signal }).catch(() => {});
      }
    }
  }
}

/** An archive that may not be open yet. Until it is, reads fail as if it were unreachable. */
class LateArchive implements ArchiveReader {
  private archive: Archive | undefined;

  constructor(private readonly outages: OutageLog) {}

  opened(archive: Archive): void {
    this.archive = archive;
  }

  async read(conversation: string, query: PageQuery): ReturnType<ArchiveReader['read']> {
    if (!this.archive) throw new HistoryError('HISTORY_UNAVAILABLE', new Error('the archive is not open yet'));
    try {
      const page = await this.archive.read(conversation, query);
      this.outages.note(undefined);
      return page;
    } catch (error) {
      if (error instanceof HistoryError) this.outages.note(error);
      throw error;
    }
  }
}
