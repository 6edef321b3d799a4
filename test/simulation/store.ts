import { type AppendJob, CheckedStore } from '../../src/features/history/checked-store.js';
import { buildPage, type LogState, placeOf, planPage, positionIn } from '../../src/features/history/page.js';
import {
  type AppendResult,
  type Changes,
  HistoryError,
  type Page,
  type PageQuery,
  type Position,
  resultsOf,
  type StoredMessage,
} from '../../src/features/history/store.js';
import { takeTags } from '../../src/features/history/tags.js';
import { Line } from './network.js';
import { Process, RIGHT, type Scheduler } from './scheduler.js';

/** After how long without an answer a call fails, in ms. */
const TIMEOUT_MS = 2000;
/** How long a call takes at most while the store is slow, in ms. */
const SLOW_MS = 60;

interface Log extends LogState {
  readonly messages: readonly StoredMessage[];
  readonly keys: ReadonlyMap<string, Position>;
}

type Logs = ReadonlyMap<string, Log>;

export interface StoreServerEvents {
  onAppend(text: string): void;
  /** It has lost messages that it had. */
  onLost(texts: readonly string[]): void;
}

/** The store that all workers share, such as Redis. */
export class StoreServer {
  private readonly process = new Process('store', RIGHT);
  private readonly connections = new Set<SimulatedStore>();
  private logs: Logs = new Map();
  /** What it has been since it last lost something. */
  private past: { readonly atMs: number; readonly logs: Logs }[] = [];
  private downUntil = 0;
  private muteUntil = 0;
  private slowUntil = 0;
  private busyUntil = 0;

  constructor(
    readonly scheduler: Scheduler,
    private readonly events: StoreServerEvents,
  ) {}

  /** @param process that of the worker */
  connect(process: Process): SimulatedStore {
    const store = new SimulatedStore(this, process);
    this.connections.add(store);
    process.onEnd.push(() => this.connections.delete(store));
    return store;
  }

  /** All connections break, and it takes no others for so many ms. */
  fail(ms: number): void {
    const { scheduler, process } = this;
    this.downUntil = Math.max(this.downUntil, scheduler.now + ms);
    for (const connection of this.connections) connection.lose();
    scheduler.add(this.downUntil, process, () => {
      if (scheduler.now < this.downUntil) return;
      for (const connection of this.connections) connection.renew();
    });
  }

  /** It does what it is asked to, and answers nothing, for so many ms. */
  mute(ms: number): void {
    this.muteUntil = Math.max(this.muteUntil, this.scheduler.now + ms);
  }

  slow(ms: number): void {
    this.slowUntil = Math.max(this.slowUntil, this.scheduler.now + ms);
  }

  /** It loses everything. */
  empty(): void {
    this.become(new Map());
  }

  /** It is replaced by what it was so many ms ago. */
  restore(agoMs: number): void {
    const { logs } = this.past.findLast(({ atMs }) => atMs <= this.scheduler.now - agoMs) ?? { logs: new Map() };
    this.become(logs);
  }

  private become(logs: Logs): void {
    const kept = new Set([...logs.values()].flatMap(({ messages }) => messages));
    const lost = [...this.logs.values()].flatMap(({ messages }) => messages).filter((one) => !kept.has(one));
    this.logs = logs;
    this.past = [{ atMs: this.scheduler.now, logs }];
    this.events.onLost(lost.map(({ text }) => text));
  }

  /** Carries out a call, once it has come to it. @param answer called unless nobody answers */
  take(call: () => void, answer: () => void): void {
    const { scheduler } = this;
    const { now } = scheduler;
    const cost = now < this.slowUntil ? SLOW_MS * scheduler.random('store').next() : 0;
    this.busyUntil = Math.max(this.busyUntil, now) + cost;
    scheduler.add(this.busyUntil, this.process, () => {
      call();
      if (scheduler.now >= this.muteUntil) answer();
    });
  }

  get isUp(): boolean {
    return this.scheduler.now >= this.downUntil;
  }

  log(conversation: string): Log {
    return this.logs.get(conversation) ?? { offset: 0, tag: 0, first: 1, messages: [], keys: new Map() };
  }

  /** @param tag what the worker suggests for the first message */
  append({ conversation, messages, key }: AppendJob, tag: number): AppendResult[] {
    const log = this.log(conversation);
    const earlier = key === undefined ? undefined : log.keys.get(key);
    if (earlier) return resultsOf(earlier, messages.length, 0, true);
    const first = Math.max(tag, log.tag + 1);
    const kept = messages.map((one, index) => ({ ...one, offset: log.offset + 1 + index, tag: first + index }));
    const last = { offset: log.offset + kept.length, tag: first + kept.length - 1 };
    const keys = key === undefined ? log.keys : new Map(log.keys).set(key, last);
    const next = { ...log, ...last, keys, messages: [...log.messages, ...kept] };
    this.logs = new Map(this.logs).set(conversation, next);
    this.past.push({ atMs: this.scheduler.now, logs: this.logs });
    for (const { text } of messages) this.events.onAppend(text);
    return resultsOf(last, kept.length, log.tag);
  }

  page(conversation: string, query: PageQuery): Page {
    const log = this.log(conversation);
    const at = positionIn(query);
    const state = at ? { ...log, place: placeOf(log, at, (offset) => log.messages[offset - 1]!.tag) } : log;
    const { from, to } = planPage(state, query);
    return buildPage(state, query, log.messages.slice(from - 1, Math.max(from - 1, to)));
  }
}

/** What a worker has of the store: its connection to it. */
class SimulatedStore extends CheckedStore {
  private readonly toServer: Line;
  private readonly toWorker: Line;
  private readonly pending = new Set<() => void>();

  constructor(
    private readonly server: StoreServer,
    private readonly process: Process,
  ) {
    super({ ttlMs: Number.MAX_SAFE_INTEGER });
    const store = new Process('store', RIGHT);
    this.toServer = new Line(server.scheduler, `${process.name} store`, store);
    this.toWorker = new Line(server.scheduler, `store ${process.name}`, process);
  }

  lose(): void {
    const { server, process, listeners } = this;
    const pending = [...this.pending];
    this.pending.clear();
    server.scheduler.add(server.scheduler.now, process, () => {
      for (const fail of pending) fail();
      for (const { onDown } of listeners) onDown?.(new Error('the connection was closed'));
    });
  }

  renew(): void {
    this.toWorker.send(() => {
      for (const { onReady } of this.listeners) onReady?.();
    });
  }

  /** @param unanswered what it fails with if it may have been carried out */
  private call<Result>(unanswered: HistoryError['code'], run: () => Result): Promise<Result> {
    const { server, toServer, toWorker, pending } = this;
    return new Promise<Result>((resolve, reject) => {
      const fail = (code: HistoryError['code']) => {
        clearTimeout(timer);
        pending.delete(lose);
        reject(new HistoryError(code));
      };
      const lose = () => fail(unanswered);
      const timer = setTimeout(lose, TIMEOUT_MS);
      pending.add(lose);
      toServer.send(() => {
        // The connection is broken.
        if (!pending.has(lose)) return;
        if (!server.isUp) return toWorker.send(() => pending.has(lose) && fail('HISTORY_UNAVAILABLE'));
        let result: Result;
        server.take(
          () => {
            result = run();
          },
          () =>
            toWorker.send(() => {
              if (!pending.delete(lose)) return;
              clearTimeout(timer);
              resolve(result);
            }),
        );
      });
    });
  }

  protected keep(job: AppendJob): Promise<AppendResult[]> {
    const tag = takeTags(job.messages.length);
    return this.call('HISTORY_UNCERTAIN', () => this.server.append(job, tag));
  }

  protected page(conversation: string, query: PageQuery): Promise<Page> {
    return this.call('HISTORY_UNAVAILABLE', () => this.server.page(conversation, query));
  }

  protected state(conversation: string): Promise<Position> {
    return this.call('HISTORY_UNAVAILABLE', () => this.server.log(conversation));
  }

  protected probe(): Promise<void> {
    return this.call('HISTORY_UNAVAILABLE', () => {});
  }

  protected async removeOld(): Promise<number> {
    return 0;
  }

  protected blank(): Promise<number> {
    throw new Error('nothing is erased');
  }

  protected tail(): Promise<Changes> {
    throw new Error('nobody reads all changes');
  }

  protected async end(): Promise<void> {}
}
