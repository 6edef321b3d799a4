import type { Cluster, Redis, RedisOptions } from 'ioredis';
import { GjallarError } from '../../../base/errors.js';
import { callback, MAX_TIMER_MS, number, row, settingsOf, text, type Values } from '../../../base/options.js';
import { isList, redisServer } from '../../../cluster/backplanes/redis/address.js';
import { openCluster, openRedis, storeOptions, watched } from '../../../cluster/backplanes/redis/connection.js';
import { type AppendJob, CheckedStore, type EraseJob } from '../checked-store.js';
import { type LossNotices, RedisLossNotices } from '../loss/watch.js';
import { buildPage, isForwards, type LogState, planPage, positionIn } from '../page.js';
import {
  type AppendResult,
  type Changes,
  HistoryError,
  type HistoryLimits,
  limitOptions,
  type Page,
  type PageQuery,
  type Position,
  type StoreEvents,
} from '../store.js';
import { RedisAppender, readError } from './append.js';
import { readChanges } from './changes.js';
import { ConnectionWatch } from './connection-watch.js';
import { BUCKETS, Keys } from './keys.js';
import { idOf, readRange, storedMessageOf, withErased } from './range.js';
import { type Scripts, withScripts } from './scripts.js';

export interface RedisHistoryOptions extends HistoryLimits {
  /**
   * A URL such as `redis://…`, or a client of ioredis with {@link redisClientOptions}. A cluster takes these as
   * `redisOptions`.
   */
  redis: string | Redis | Cluster;
  /** How long Redis may take to answer, in ms. Beyond it, the call is rejected. Applies to a URL only. @default 2000 */
  timeoutMs?: number;
  /** What the names of all keys begin with. @default `gjallar:` */
  keyPrefix?: string;
  /** Called with each error of the connection, before the client connects again. Applies to a URL only. */
  onError?: (error: Error) => void;
}

const TIMEOUT_MS = 2000;
const options = {
  ...limitOptions,
  redis: row(redisServer),
  timeoutMs: row(number(1, MAX_TIMER_MS, 'ms'), TIMEOUT_MS),
  keyPrefix: row(text(), 'gjallar:'),
  onError: row(callback<(error: Error) => void>(), () => {}),
};
/** How often a page is read whose log is replaced meanwhile. */
const MAX_ATTEMPTS = 3;

/**
 * The options of a client for {@link RedisHistoryStore}. It rejects instead of waiting: an append must not arrive after its
 * caller has stopped waiting. A connection that stays silent for `timeoutMs` is closed and made again.
 * @param timeoutMs how long Redis may take to answer, in ms. @default 2000
 */
export function redisClientOptions(timeoutMs = TIMEOUT_MS): RedisOptions {
  return storeOptions(timeoutMs);
}

/**
 * The store in Redis 6.2 or later: a stream per conversation, shared by all machines.
 *
 * Messages are as safe as Redis keeps them. Set `appendonly yes`: without it a restart loses the messages since the last
 * snapshot, and readers of these are told. Set `maxmemory`, which bounds the history. `maxmemory-policy noeviction`
 * is required: with it, Redis rejects appends when it is full. With another one it removes messages, which is told as a
 * problem.
 */
export class RedisHistoryStore extends CheckedStore {
  private readonly client: (Redis | Cluster) & Scripts;
  private readonly owned: boolean;
  private readonly keys: Keys;
  private readonly appender: RedisAppender;
  private readonly watch: ConnectionWatch;
  readonly lossNotices: LossNotices;

  private constructor(client: Redis | Cluster, settings: Values<typeof options>) {
    super(settings);
    const { ttlMs, maxMessages, keyPrefix } = settings;
    this.client = withScripts(client);
    this.owned = typeof settings.redis === 'string';
    this.keys = new Keys(keyPrefix);
    this.lossNotices = new RedisLossNotices(client, `${keyPrefix}loss`);
    this.watch = new ConnectionWatch(client, this.listeners);
    this.appender = new RedisAppender(this.client, this.keys, { ttlMs, maxMessages });
  }

  /** @throws HistoryError `HISTORY_UNAVAILABLE` if Redis does not answer within the timeout */
  static async open(given: RedisHistoryOptions): Promise<RedisHistoryStore> {
    const store = RedisHistoryStore.connect(given);
    try {
      await store.ready(AbortSignal.timeout(Number(given.timeoutMs ?? TIMEOUT_MS)));
      return store;
    } catch (error) {
      await store.close();
      throw new HistoryError('HISTORY_UNAVAILABLE', error);
    }
  }

  /**
   * Returns a store at once, which connects by itself. As long as Redis cannot be reached, it rejects with
   * `HISTORY_UNAVAILABLE`.
   */
  static connect(given: RedisHistoryOptions): RedisHistoryStore {
    const settings = settingsOf('RedisHistoryStore', options, given);
    const { redis, timeoutMs, onError } = settings;
    if (!redis) throw new GjallarError('BAD_INPUT', 'RedisHistoryStore needs the option redis: a URL, or a client.');
    const open = typeof redis === 'string' && isList(redis) ? openCluster : openRedis;
    const client = typeof redis === 'string' ? open(redis, redisClientOptions(timeoutMs)) : watched(redis);
    if (typeof redis === 'string') client.on('error', onError);
    return new RedisHistoryStore(client, settings);
  }

  get isReady(): boolean {
    return this.client.status === 'ready';
  }

  override listen(events: StoreEvents): void {
    super.listen(events);
    this.watch.tell(events);
  }

  /** Resolves when Redis can be reached, however long that takes; rejects when `signal` aborts first. */
  ready(signal?: AbortSignal): Promise<void> {
    if (this.isReady) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.client.once('ready', resolve);
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  }

  protected async keep(job: AppendJob): Promise<AppendResult[]> {
    try {
      return await this.appender.append(job);
    } catch (error) {
      throw this.explained(error as HistoryError);
    }
  }

  protected async page(conversation: string, query: PageQuery): Promise<Page> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const page = await this.tryRead(conversation, query);
      if (page) return page;
    }
    throw new HistoryError('HISTORY_UNAVAILABLE', new Error('the log was lost while it was read'));
  }

  /** Undefined if the log was lost or trimmed between two commands. */
  private async tryRead(conversation: string, query: PageQuery): Promise<Page | undefined> {
    const log = await this.logOf(conversation, positionIn(query));
    const { from, to } = planPage(log, query);
    if (from > to) return buildPage(log, query, []);
    const forwards = isForwards(query);
    const { stream } = this.keys.of(conversation);
    const { entries, isCut } = await this.ask(() => readRange(this.client, stream, { from, to, forwards }));
    const found = entries.map(storedMessageOf);
    // A message that came later has a later tag.
    if (found.some(({ tag }) => tag > log.tag) || (!log.hasErased && found.length === 0)) return undefined;
    if (!log.hasErased || (isCut && found.length === 0)) return buildPage(log, query, found, isCut);
    const first = isCut && !forwards ? found[0]!.offset : from;
    const last = isCut && forwards ? found.at(-1)!.offset : to;
    return buildPage(log, query, withErased(found, first, last, forwards ? query.tag : 0), isCut);
  }

  protected blank({ conversation, places }: EraseJob): Promise<number> {
    const { meta, stream, low } = this.keys.of(conversation);
    return this.ask(() => this.client.gjallarErase(3, meta, stream, low, ...places.map(idOf)));
  }

  protected async removeOld(now: number): Promise<number> {
    const removed = await Promise.all(Array.from({ length: BUCKETS }, (_, bucket) => this.trimBucket(bucket, now)));
    return removed.reduce((sum, count) => sum + count, 0);
  }

  protected async probe(conversation: string): Promise<void> {
    const { check } = this.keys.of(conversation);
    await this.ask(() => this.client.gjallarCheck(1, check));
  }

  protected tail(after: string | undefined, limit: number): Promise<Changes> {
    return this.ask(() => readChanges(this.client, this.keys, after, limit));
  }

  protected async end(): Promise<void> {
    await this.appender.idle();
    this.watch.close();
    // Not quit(): that would wait for a Redis that does not answer.
    if (this.owned) this.client.disconnect();
  }

  /** A few conversations at a time, so that a bucket's trimming never holds Redis up for long. */
  private async trimBucket(bucket: number, now: number): Promise<number> {
    const due = this.keys.due(bucket);
    let total = 0;
    for (;;) {
      const late = await this.ask(() => this.client.zrangebyscore(due, '-inf', `(${now}`, 'LIMIT', 0, 16));
      if (late.length === 0) return total;
      for (const conversation of late) {
        const stream = this.keys.stream(bucket, conversation);
        const low = this.keys.low(bucket, conversation);
        total += await this.ask(() =>
          this.client.gjallarTrim(3, stream, due, low, conversation, now - this.ttlMs, this.ttlMs),
        );
      }
    }
  }

  protected state(conversation: string): Promise<LogState> {
    return this.logOf(conversation);
  }

  private async logOf(conversation: string, at?: Position): Promise<LogState & { hasErased: boolean }> {
    const { meta, stream, low } = this.keys.of(conversation);
    const reader = [at?.offset ?? 0, at?.tag ?? 0];
    const [offset, tag, first, hasErased, place, lost] = await this.ask(() =>
      this.client.gjallarHead(3, meta, stream, low, ...reader),
    );
    const log = { offset, tag, first, hasErased: hasErased === 1 };
    return at ? { ...log, place: { offset: place, lost: lost === 1 } } : log;
  }

  private async ask<Result>(command: () => Promise<Result>): Promise<Result> {
    this.expectOpen();
    try {
      return await command();
    } catch (error) {
      throw this.explained(readError(error));
    }
  }

  /** Without a connection, ioredis does not say why. */
  private explained(error: HistoryError): HistoryError {
    const isDown = error.code === 'HISTORY_UNAVAILABLE' && !this.isReady;
    return isDown ? new HistoryError('HISTORY_UNAVAILABLE', this.watch.reason) : error;
  }
}
