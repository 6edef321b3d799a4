import type { Entry } from '../entries.js';
import type { SequencedRoom } from './room.js';

/** How exactly a key is deleted when its time is over, in ms. */
const STEP_MS = 100;

const stepOf = (ms: number) => Math.ceil(ms / STEP_MS);

/** The keys with a `ttl`, by the time at which they are deleted. */
export class Expiry {
  private readonly steps = new Map<number, Set<Entry>>();
  /** Each key has one step: a key that is set again and again takes no more memory. */
  private readonly stepOf = new Map<Entry, { readonly room: SequencedRoom; readonly step: number }>();
  private timer: NodeJS.Timeout | undefined;
  private last = 0;

  add(room: SequencedRoom, entry: Entry): void {
    const now = stepOf(Date.now());
    const step = Math.max(stepOf(entry.expires!), now);
    const known = this.stepOf.get(entry);
    if (known && known.step <= step) return;
    if (known) this.steps.get(known.step)?.delete(entry);
    this.stepOf.set(entry, { room, step });
    this.steps.set(step, (this.steps.get(step) ?? new Set()).add(entry));
    if (this.timer) return;
    this.last = now - 1;
    this.timer = setInterval(() => this.turn(), STEP_MS).unref();
  }

  close(): void {
    clearInterval(this.timer);
  }

  private turn(): void {
    const now = Date.now();
    while (this.last < Math.floor(now / STEP_MS)) this.expire(++this.last, now);
    if (this.steps.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private expire(step: number, now: number): void {
    const entries = this.steps.get(step) ?? [];
    this.steps.delete(step);
    for (const entry of entries) {
      const { room } = this.stepOf.get(entry)!;
      this.stepOf.delete(entry);
      // It may have been set again, or be an entry of a room that is gone.
      if (entry.expires === undefined || room.entries.find(entry.key) !== entry) continue;
      if (entry.expires > now) this.add(room, entry);
      else room.expire(entry.key);
    }
  }
}
