import { Turns } from './turns.js';

/** How much the offsets of clients that wait may take, in characters. */
const MAX_WAITING = 16 * 1024 * 1024;
/** Attempts to recover one session at once. A client may try again before its last attempt has ended. */
const MAX_OF_SESSION = 4;

/** Counts the recoveries in progress on a worker, and spreads their work. */
export class Gate {
  readonly turns = new Turns();
  private readonly sessions = new Map<string, number>();
  private count = 0;
  private waiting = 0;

  /** @param max how many there may be at once */
  constructor(private readonly max: number) {}

  /** @returns false if there are too many. If not, `leave()` must follow. */
  enter(pid: string, offset: string): boolean {
    const ofSession = this.sessions.get(pid) ?? 0;
    if (this.count >= this.max || ofSession >= MAX_OF_SESSION) return false;
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
