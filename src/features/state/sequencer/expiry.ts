import { clearTimeout, setTimeout } from '../../../base/clock.js';
import type { StateEntry } from '../entries.js';
import type { SequencedRoom } from './room.js';

/** Keys whose time is over within this time are deleted together, in ms. */
const STEP_MS = 100;
/** The longest time that a timer of Node.js can have, in ms, is a little more. */
const MAX_TIMER_MS = 2_000_000_000;

/** Deletes the keys with a `ttl` when their time is over. */
export class KeyExpiry {
  private readonly timers = new Map<StateEntry, { readonly due: number; readonly timer: NodeJS.Timeout }>();

  /** A key that is set again and again keeps its timer, which then finds that there is time left. */
  add(room: SequencedRoom, entry: StateEntry): void {
    const due = Math.ceil(entry.expires! / STEP_MS) * STEP_MS;
    const known = this.timers.get(entry);
    if (known && known.due <= due) return;
    clearTimeout(known?.timer);
    const ms = Math.min(Math.max(due - Date.now(), 0), MAX_TIMER_MS);
    const timer = setTimeout(() => this.expire(room, entry), ms).unref();
    this.timers.set(entry, { due, timer });
  }

  close(): void {
    for (const { timer } of this.timers.values()) clearTimeout(timer);
    this.timers.clear();
  }

  private expire(room: SequencedRoom, entry: StateEntry): void {
    this.timers.delete(entry);
    // It may have been set again, or be an entry of a room that is gone.
    if (entry.expires === undefined || room.entries.find(entry.key) !== entry) return;
    if (entry.expires > Date.now()) this.add(room, entry);
    else room.expire(entry.key);
  }
}
