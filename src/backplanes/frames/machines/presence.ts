import { own } from '../../../base/owner.js';
import { MalformedMessage } from '../../../errors.js';
import type { PubSub } from './pub-sub.js';

/** At least this time is between two calls for one worker, in ms. */
const PACE_MS = 1000;

/** Calls a function for each worker at once, and again at most once a second, however often it is asked to. */
class Paced {
  private readonly waiting = new Map<string, { isAgain: boolean; timer: NodeJS.Timeout }>();

  constructor(private readonly act: (worker: string) => void) {}

  run(worker: string): void {
    const waiting = this.waiting.get(worker);
    if (waiting) {
      waiting.isAgain = true;
      return;
    }
    const timer = setTimeout(() => {
      const isAgain = this.waiting.get(worker)?.isAgain;
      this.waiting.delete(worker);
      if (isAgain) this.run(worker);
    }, PACE_MS).unref();
    this.waiting.set(worker, { isAgain: false, timer });
    this.act(worker);
  }

  /** The worker is gone. */
  forget(worker: string): void {
    clearTimeout(this.waiting.get(worker)?.timer);
    this.waiting.delete(worker);
  }

  close(): void {
    for (const { timer } of this.waiting.values()) clearTimeout(timer);
    this.waiting.clear();
  }
}

/** Turns after which a worker that has not said hello counts as one that was there before. */
const MAX_TURNS = 2;

/**
 * Workers that were there before this one, and that it heard of after it had sent broadcasts: they were paused when it
 * started, or for so long that they counted as gone. What was sent meanwhile did not go to them. A new worker, which
 * says hello, has missed nothing; its hello may come after its first frame.
 */
class Latecomers {
  private readonly turns = new Map<string, number>();

  /** @param onLate called with each of them once */
  constructor(private readonly onLate: (worker: string) => void) {}

  /** A worker was heard of, and has not said hello. */
  suspect(worker: string): void {
    this.turns.set(worker, 0);
  }

  /** The worker has said hello, or is gone. */
  clear(worker: string): void {
    this.turns.delete(worker);
  }

  /** Call this every two seconds. */
  turn(): void {
    for (const [worker, turns] of this.turns) {
      if (turns + 1 < MAX_TURNS) {
        this.turns.set(worker, turns + 1);
        continue;
      }
      this.turns.delete(worker);
      this.onLate(worker);
    }
  }
}

/** How often a worker says that it is there, in ms. */
const INTERVAL_MS = 2000;
/** After this number of intervals without a message, a worker counts as gone. */
const MAX_MISSED = 3;
/** How long the answers to a hello are waited for, in ms. */
const TIMEOUT_MS = 1000;
/** The same, after each answer, where the server does not say how many there will be. */
const UNCOUNTED_MS = 200;
/** How long a worker that has said bye is remembered, in ms. What it said before may arrive later. */
const MEMORY_MS = 10_000;

const words = { hello: 'hello', here: 'here' } as const;
type Word = (typeof words)[keyof typeof words];

interface Hello {
  readonly answers: Set<string>;
  /** How many workers will answer. */
  expected: number;
  /** Ends the wait some time after the last answer, where their number is not known. */
  pause: NodeJS.Timeout | undefined;
  end(): void;
}

interface PresenceEvents {
  /** The worker is new, or messages may have been lost. */
  onJoin(worker: string): void;
  onLeave(worker: string): void;
  /** The worker waits for an answer. */
  onHello(worker: string): void;
  /** The worker was there, but was not known, when this one sent broadcasts. */
  onLate(worker: string): void;
  /** Whether this worker has sent broadcasts. */
  hasBroadcast(): boolean;
}

/**
 * How the workers of all machines find each other: on a channel that all of them hear, each says hello when it has
 * subscribed, and then that it is here every two seconds. It says bye in its last frame to each machine.
 */
export class Presence {
  /** The intervals that each other worker was silent for. */
  private readonly missed = new Map<string, number>();
  /** Workers that have said bye. */
  private readonly departed = new Set<string>();
  private readonly latecomers = new Latecomers((worker) => this.events.onLate(worker));
  private readonly joins = new Paced((worker) => this.events.onJoin(worker));
  private readonly hellos = new Paced((worker) => this.events.onHello(worker));
  private readonly timer: NodeJS.Timeout;
  /** The hello that is being answered. Those who answer are on time. */
  private hello: Hello | undefined;
  private hasBegun = false;

  constructor(
    private readonly id: string,
    private readonly pubSub: PubSub,
    private readonly channel: string,
    private readonly events: PresenceEvents,
  ) {
    this.timer = setInterval(() => this.turn(), INTERVAL_MS).unref();
  }

  /**
   * Call this when all subscriptions are there, for the first time or again. Resolves when the workers that hear the hello
   * have answered, or after a second.
   */
  async begin(): Promise<void> {
    this.hasBegun = true;
    for (const worker of this.missed.keys()) this.events.onJoin(worker);
    this.hello?.end();
    const hello: Hello = {
      answers: new Set(),
      expected: Number.POSITIVE_INFINITY,
      pause: undefined,
      end: () => {},
    };
    const ended = new Promise<void>((resolve) => {
      hello.end = resolve;
    });
    this.hello = hello;
    const count = await this.say(words.hello);
    // This worker has subscribed, too.
    if (count !== undefined) hello.expected = count - 1;
    const timer = setTimeout(hello.end, TIMEOUT_MS);
    if (count === undefined) hello.pause = setTimeout(hello.end, UNCOUNTED_MS);
    this.review();
    await ended;
    clearTimeout(timer);
    clearTimeout(hello.pause);
    if (this.hello === hello) this.hello = undefined;
  }

  /** Call this with the sender of each frame that arrives. */
  admit(worker: string): void {
    if (!this.missed.has(worker) && worker !== this.id && !this.departed.has(worker)) this.join(worker, false);
  }

  /** Call this with the sender of each frame that is handled. */
  heard(worker: string): void {
    if (worker === this.id || this.departed.has(worker)) return;
    this.admit(worker);
    this.missed.set(worker, 0);
    const { hello } = this;
    if (!hello || hello.answers.has(worker)) return;
    hello.answers.add(worker);
    hello.pause?.refresh();
    this.review();
  }

  /** Frames from the worker or to it may have been lost. */
  resume(worker: string): void {
    if (this.missed.has(worker)) this.joins.run(worker);
  }

  /** @throws MalformedMessage if it is no word */
  receive(bytes: Buffer): void {
    const [, word, worker] = /^(hello|here) (\d{1,9}\.[\w-]{8})$/.exec(bytes.toString('latin1')) ?? [];
    if (!worker) throw new MalformedMessage('a worker must say who it is');
    if (worker === this.id || this.departed.has(worker)) return;
    if (!this.missed.has(worker)) {
      this.join(worker, word === words.hello);
    } else if (word === words.hello) {
      this.latecomers.clear(worker);
      this.joins.run(worker);
    }
    this.missed.set(worker, 0);
    if (word === words.hello) this.hellos.run(worker);
  }

  has(worker: string): boolean {
    return this.missed.has(worker);
  }

  /** The other workers that are there. */
  get workers(): Iterable<string> {
    return this.missed.keys();
  }

  /** The worker has said bye. */
  leave(worker: string): void {
    this.departed.add(worker);
    setTimeout(() => this.departed.delete(worker), MEMORY_MS).unref();
    this.remove(worker);
  }

  close(): void {
    clearInterval(this.timer);
    this.joins.close();
    this.hellos.close();
    this.hello?.end();
  }

  private say(word: Word): Promise<number | undefined> {
    return this.pubSub.publish(this.channel, Buffer.from(`${word} ${this.id}`, 'latin1'), 0);
  }

  /** Silence is counted in turns of this timer: a worker that is itself held up takes no other worker for gone. */
  private turn(): void {
    // Also while the server rejects it: this shows when it is accepted again.
    if (this.hasBegun) own('telling other machines of this worker', this.say(words.here));
    if (!this.pubSub.health.isUp) return;
    this.latecomers.turn();
    for (const [worker, missed] of this.missed) {
      if (missed < MAX_MISSED) this.missed.set(worker, missed + 1);
      else this.remove(worker);
    }
  }

  private join(worker: string, saysHello: boolean): void {
    if (!saysHello && !this.hello && this.events.hasBroadcast()) this.latecomers.suspect(worker);
    this.missed.set(worker, 0);
    this.joins.run(worker);
  }

  private remove(worker: string): void {
    if (!this.missed.delete(worker)) return;
    this.latecomers.clear(worker);
    this.joins.forget(worker);
    this.hellos.forget(worker);
    this.events.onLeave(worker);
  }

  private review(): void {
    if (this.hello && this.hello.answers.size >= this.hello.expected) this.hello.end();
  }
}
