import { setImmediate as systemImmediate } from 'node:timers';
import { replaceTime, type Time } from '../../src/base/clock.js';
import { failures } from '../../src/base/owner.js';
import { replaceRandom } from '../../src/base/random.js';
import { type KnownTags, replaceTags } from '../../src/features/history/tags.js';
import { Random } from '../io/rooms/support/random.js';

/** When a simulation begins, in ms since 1970. */
const BEGINNING = Date.UTC(2030, 0, 1);
export const HOUR_MS = 3_600_000;
/** The clocks of what is no machine. */
export const RIGHT: MachineClock = { aheadMs: 0, startedAheadMs: 0 };
/** So many events without a step of the time are a loop. */
const MAX_AT_ONCE = 100_000;

/** The clocks of a machine. */
export interface MachineClock {
  /** By how much the time of day is ahead, in ms. */
  aheadMs: number;
  /** The same of the clock that is never set, since the machine started. */
  readonly startedAheadMs: number;
}

/** A worker, a hub, or a client: what may be paused or killed, and has timers. */
export class Process {
  isAlive = true;
  pausedUntil = 0;
  pausedAt = 0;
  readonly timers = new Set<Timer>();
  readonly tags: KnownTags = { newest: 0 };
  onEnd: (() => void)[] = [];

  constructor(
    readonly name: string,
    readonly clock: MachineClock,
  ) {}

  /** Between two turns, as SIGKILL. */
  kill(): void {
    this.isAlive = false;
    this.timers.clear();
    for (const tell of this.onEnd.splice(0)) tell();
  }
}

/** What has to happen, in a turn of the event loop of a process. */
interface Event {
  at: number;
  /** Events of the same time keep their order. */
  readonly order: number;
  readonly process: Process;
  readonly run: () => void;
  isOver: boolean;
}

/** A timer of Node.js, as far as the code uses it. */
class Timer {
  event: Event | undefined;

  constructor(
    private readonly scheduler: Scheduler,
    readonly process: Process,
    private readonly callback: () => void,
    private readonly ms: number,
    private readonly isInterval: boolean,
  ) {
    process.timers.add(this);
    this.plan();
  }

  private plan(): void {
    this.event = this.scheduler.add(this.scheduler.now + this.ms, this.process, () => {
      if (this.isInterval) this.plan();
      else this.process.timers.delete(this);
      this.callback();
    });
  }

  cancel(): void {
    if (this.event) this.event.isOver = true;
    this.process.timers.delete(this);
  }

  refresh(): this {
    if (this.process.timers.has(this)) {
      this.event!.isOver = true;
      this.plan();
    }
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/** Turns of the simulated processes, one after the other, by a time that only it moves. */
export class Scheduler {
  /** In ms since the beginning. */
  now = 0;
  steps = 0;
  /** What went wrong first. */
  failure: Error | undefined;
  private readonly queue: Event[] = [];
  private order = 0;
  private atOnce = 0;
  private readonly outside = new Process('outside', RIGHT);
  /** The process that has its turn. */
  current = this.outside;
  private readonly randoms = new Map<string, Random>();

  constructor(readonly seed: number) {}

  /** Random numbers of a part, which do not depend on what others do. */
  random(name: string): Random {
    let random = this.randoms.get(name);
    if (!random) {
      random = new Random(hashOf(`${this.seed} ${name}`));
      this.randoms.set(name, random);
    }
    return random;
  }

  /** Plans a turn of a process. */
  add(at: number, process: Process, run: () => void): Event {
    const event = { at: Math.max(at, this.now), order: this.order++, process, run, isOver: false };
    push(this.queue, event);
    return event;
  }

  fail(error: unknown): void {
    this.failure ??= error instanceof Error ? error : new Error(String(error));
  }

  /** Runs a simulation: until it has failed, or there is nothing to do up to a time. */
  async run(until: number, isOver = () => false): Promise<void> {
    while (!this.failure) {
      if (isOver()) return;
      const event = this.queue[0];
      if (!event || event.at > until) break;
      pop(this.queue);
      const { process } = event;
      if (event.isOver || !process.isAlive) continue;
      if (process.pausedUntil > event.at) {
        push(this.queue, Object.assign(event, { at: process.pausedUntil }));
        continue;
      }
      this.atOnce = event.at > this.now ? 0 : this.atOnce + 1;
      if (this.atOnce > MAX_AT_ONCE) return this.fail(new Error('loop: the time does not go on'));
      this.now = Math.max(this.now, event.at);
      this.steps++;
      this.current = process;
      try {
        event.run();
      } catch (error) {
        this.fail(error);
      }
      // Its microtasks.
      await new Promise((resolve) => systemImmediate(resolve));
      this.current = this.outside;
    }
    if (!this.failure) this.now = Math.max(this.now, until);
  }

  /** Owns the time, the timers and what is random in this process, until the function that it returns is called. */
  install(): () => void {
    const start =
      (isInterval: boolean) =>
      (callback: (...args: unknown[]) => void, ms: number, ...args: unknown[]) =>
        new Timer(this, this.current, () => callback(...args), Math.max(1, ms || 1), isInterval);
    const immediate = (callback: (...args: unknown[]) => void, ...args: unknown[]) =>
      new Timer(this, this.current, () => callback(...args), 0, false);
    const cancel = (timer: Timer | undefined) => timer?.cancel();
    const sinceStart = () => this.now + HOUR_MS + this.current.clock.startedAheadMs;
    const nanoseconds = () => BigInt(Math.round(sinceStart() * 1e6));
    const hrtime = () => [Math.floor(sinceStart() / 1000), Math.round((sinceStart() % 1000) * 1e6)];
    const time = {
      ...{ setTimeout: start(false), setInterval: start(true), setImmediate: immediate },
      ...{ clearTimeout: cancel, clearInterval: cancel, clearImmediate: cancel },
      performance: { now: () => this.now },
      hrtime: Object.assign(hrtime, { bigint: nanoseconds }),
      timeOrigin: BEGINNING - HOUR_MS,
    };
    const random = this.random('ids');
    const bytes = (size: number) => Buffer.from(Array.from({ length: size }, () => random.below(256)));
    const restoreTime = replaceTime(time as unknown as Time);
    const restoreRandom = replaceRandom(bytes, (min, max) => min + random.below(max - min));
    const restoreTags = replaceTags(() => this.current.tags);
    const { hrtime: _, timeOrigin: __, ...globals } = time;
    const own = Object.keys(globals).map((key) => [key, Object.getOwnPropertyDescriptor(globalThis, key)!] as const);
    for (const [key, value] of Object.entries(globals))
      Object.defineProperty(globalThis, key, { value, configurable: true, writable: true });
    const { now: systemNow } = Date;
    Date.now = () => Math.floor(BEGINNING + this.now + this.current.clock.aheadMs);
    const onFailure = (found: unknown) => {
      const { work, error } = found as { work: string; error: unknown };
      this.fail(Object.assign(new Error(`failure: ${work}: ${(error as Error)?.stack ?? error}`)));
    };
    const onRejection = (error: unknown) => this.fail(error);
    failures.subscribe(onFailure);
    process.on('unhandledRejection', onRejection);
    return () => {
      restoreTime();
      restoreRandom();
      restoreTags();
      for (const [key, descriptor] of own) Object.defineProperty(globalThis, key, descriptor);
      Date.now = systemNow;
      failures.unsubscribe(onFailure);
      process.off('unhandledRejection', onRejection);
    };
  }
}

const isBefore = (a: Event, b: Event): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

/** A binary heap. */
function push(heap: Event[], event: Event): void {
  let at = heap.push(event) - 1;
  while (at > 0) {
    const above = (at - 1) >> 1;
    if (!isBefore(event, heap[above]!)) break;
    heap[at] = heap[above]!;
    at = above;
  }
  heap[at] = event;
}

function pop(heap: Event[]): void {
  const last = heap.pop()!;
  if (heap.length === 0) return;
  let at = 0;
  for (;;) {
    let below = 2 * at + 1;
    if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below++;
    if (below >= heap.length || !isBefore(heap[below]!, last)) break;
    heap[at] = heap[below]!;
    at = below;
  }
  heap[at] = last;
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash | 0;
}
