import { clearImmediate, machineTime, setImmediate } from '../../../base/clock.js';
import { systemClock } from '../../../engine/clock.js';
import { Allowance } from '../../../engine/limits/rates.js';

/** How much work may be done before other clients are served. */
const MAX_UNITS = 500;
const MIN_PAUSE_MS = 1;

/**
 * Spreads the work of recoveries over time: after each part, the worker serves its other clients for as long as that part
 * took, however many return at once. A unit is about what it takes to join a room or to send a packet.
 */
export class Turns {
  private queue: { readonly cost: number; readonly go: () => void }[] = [];
  private head = 0;
  private units = MAX_UNITS;
  private startedAt: number | undefined;
  private immediate: NodeJS.Immediate | undefined;
  private timer: NodeJS.Timeout | undefined;

  /** Resolves when so much work may be done, in the order of the calls. It must then be done at once. */
  take(cost: number): Promise<void> {
    if (this.head === this.queue.length && this.units > 0) {
      this.spend(cost);
      return Promise.resolve();
    }
    return new Promise((go) => this.queue.push({ cost, go }));
  }

  close(): void {
    clearImmediate(this.immediate);
    clearTimeout(this.timer);
    for (const { go } of this.queue.slice(this.head)) go();
    this.queue = [];
    this.head = 0;
  }

  private spend(cost: number): void {
    this.units -= cost;
    if (this.startedAt !== undefined) return;
    this.startedAt = machineTime();
    this.immediate = setImmediate(() => {
      // A worker that gets little of the processor thus rests longer, too.
      const pause = Math.max(MIN_PAUSE_MS, machineTime() - this.startedAt!);
      this.timer = setTimeout(() => this.renew(), pause);
    });
  }

  private renew(): void {
    this.startedAt = undefined;
    this.units = MAX_UNITS;
    while (this.units > 0 && this.head < this.queue.length) {
      const { cost, go } = this.queue[this.head++]!;
      this.spend(cost);
      go();
    }
    if (this.head * 2 < this.queue.length) return;
    this.queue = this.queue.slice(this.head);
    this.head = 0;
  }
}

/** How much the offsets of clients that wait may take, in characters. */
const MAX_WAITING = 16 * 1024 * 1024;
/** Attempts to recover one session at once. A client may try again before its last attempt has ended. */
const MAX_OF_SESSION = 4;

/** The time in which all clients together may be sent so much, in ms. */
const REPLAY_MS = 10_000;

/** How much missed packets may take in a worker for clients that are not connected yet, in bytes. */
const MAX_HELD = 32 * 1024 * 1024;
/** Approximate memory of a missed packet in a worker besides its content, in bytes. */
const PACKET_BYTES = 200;

/** What all clients of a worker together may be sent because they had missed it: within a time, and at once. */
export class Replays {
  private readonly packets: Allowance;
  private readonly bytes: Allowance;
  private held = 0;
  private waiting: { readonly bytes: number; readonly go: () => void }[] = [];

  constructor(
    { maxReplayed, maxReplayedBytes }: { readonly maxReplayed: number; readonly maxReplayedBytes: number },
    private readonly clock = systemClock,
  ) {
    this.packets = new Allowance({ amount: maxReplayed, per: REPLAY_MS }, clock.now());
    this.bytes = new Allowance({ amount: maxReplayedBytes, per: REPLAY_MS }, clock.now());
  }

  /** Whether a client may still be sent what it has missed. If so, that counts from now on. */
  take(packets: number, bytes: number): boolean {
    const now = this.clock.now();
    if (!this.packets.has(packets, now) || !this.bytes.has(bytes, now)) return false;
    this.packets.consume(packets, now);
    this.bytes.consume(bytes, now);
    return true;
  }

  /**
   * Resolves when the worker may hold what a client has missed, in the order of the calls. What is too much alone is held alone.
   * @returns what must be called when the client is connected, or gets a new session
   */
  async hold(packets: number, content: number): Promise<() => void> {
    const bytes = content + PACKET_BYTES * packets;
    if (bytes > 0) {
      await new Promise<void>((go) => {
        this.waiting.push({ bytes, go });
        this.holdMore();
      });
    }
    return () => {
      this.held -= bytes;
      this.holdMore();
    };
  }

  private holdMore(): void {
    for (;;) {
      const [next] = this.waiting;
      if (!next || (this.held > 0 && this.held + next.bytes > MAX_HELD)) return;
      this.waiting.shift();
      this.held += next.bytes;
      next.go();
    }
  }
}

/** Counts the recoveries in progress on a worker, bounds their offsets, and spreads their work. */
export class Gate {
  readonly turns = new Turns();
  private readonly sessions = new Map<string, number>();
  private count = 0;
  private waiting = 0;

  constructor(private readonly maxRecovering: number) {}

  /** @returns false if there are too many. If not, `leave()` must follow. */
  enter(pid: string, offset: string): boolean {
    const ofSession = this.sessions.get(pid) ?? 0;
    if (this.count >= this.maxRecovering || ofSession >= MAX_OF_SESSION) return false;
    if (this.waiting + offset.length > MAX_WAITING) return false;
    this.waiting += offset.length;
    this.sessions.set(pid, ofSession + 1);
    this.count++;
    return true;
  }

  leave(pid: string, offset: string): void {
    this.waiting -= offset.length;
    const ofSession = this.sessions.get(pid)! - 1;
    if (ofSession > 0) this.sessions.set(pid, ofSession);
    else this.sessions.delete(pid);
    this.count--;
  }
}
