import { systemClock } from '../../engine/clock.js';
import { Allowance } from '../../engine/limits/rates.js';
import { Turns } from './turns.js';

/** How much the offsets of clients that wait may take, in characters. */
const MAX_WAITING = 16 * 1024 * 1024;
/** Attempts to recover one session at once. A client may try again before its last attempt has ended. */
const MAX_OF_SESSION = 4;

/** The time in which all clients together may be sent so much, in ms. */
const REPLAY_MS = 10_000;

/** The bounds of recoveries that all clients share. */
interface GateBounds {
  readonly maxRecovering: number;
  readonly maxReplayed: number;
  readonly maxReplayedBytes: number;
}

/** What a client has missed. */
export interface Size {
  readonly packets: number;
  readonly bytes: number;
}

/** Counts the recoveries in progress on a worker, bounds what all of them send, and spreads their work. */
export class Gate {
  readonly turns = new Turns();
  private readonly sessions = new Map<string, number>();
  private count = 0;
  private waiting = 0;
  private readonly packets: Allowance;
  private readonly bytes: Allowance;

  constructor(
    private readonly bounds: GateBounds,
    private readonly clock = systemClock,
  ) {
    this.packets = new Allowance({ amount: bounds.maxReplayed, per: REPLAY_MS }, clock.now());
    this.bytes = new Allowance({ amount: bounds.maxReplayedBytes, per: REPLAY_MS }, clock.now());
  }

  /** Whether a client may still be sent what it has missed. If so, that counts from now on. */
  mayReplay({ packets, bytes }: Size): boolean {
    const now = this.clock.now();
    if (!this.packets.has(packets, now) || !this.bytes.has(bytes, now)) return false;
    this.packets.consume(packets, now);
    this.bytes.consume(bytes, now);
    return true;
  }

  /** @returns false if there are too many. If not, `leave()` must follow. */
  enter(pid: string, offset: string): boolean {
    const ofSession = this.sessions.get(pid) ?? 0;
    if (this.count >= this.bounds.maxRecovering || ofSession >= MAX_OF_SESSION) return false;
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
