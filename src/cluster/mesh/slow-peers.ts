import type { Writable } from 'node:stream';

/** So many bytes may wait on a link for longer than a moment: the longest payload or a burst is gone by then. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** In ms. */
const TURN_MS = 250;
/** After so many turns the other end is taken for one that does not keep up. */
const MAX_TURNS = 8;
/** A turn that took longer, in ms, was one in which this worker was busy itself: it writes only between two things. */
const MAX_TURN_MS = 300;

/**
 * Finds links on which more waits than the other end will ever read in time. It is counted in turns of this worker's
 * own timer that came in time, so that one that is itself held up, once or again and again, blames nobody.
 */
export class SlowPeerDetector<Link extends Writable> {
  private readonly turns = new Map<Link, number>();
  private timer: NodeJS.Timeout | undefined;
  private lastTurn = 0;

  /** @param onStuck called with a link whose other end does not keep up */
  constructor(private readonly onStuck: (link: Link) => void) {}

  /** To be called after each write. */
  check(link: Link): void {
    if (link.writableLength <= MAX_WAITING_BYTES || this.turns.has(link)) return;
    this.turns.set(link, 0);
    if (this.timer) return;
    this.lastTurn = performance.now();
    this.timer = setInterval(() => this.onTurn(), TURN_MS);
  }

  close(): void {
    this.turns.clear();
    this.stopWatching();
  }

  private onTurn(): void {
    const now = performance.now();
    const isLate = now - this.lastTurn > MAX_TURN_MS;
    this.lastTurn = now;
    if (isLate) return;
    for (const [link, turns] of this.turns) {
      if (link.destroyed || link.writableLength <= MAX_WAITING_BYTES) {
        this.turns.delete(link);
      } else if (turns + 1 < MAX_TURNS) {
        this.turns.set(link, turns + 1);
      } else {
        this.turns.delete(link);
        this.onStuck(link);
      }
    }
    if (this.turns.size === 0) this.stopWatching();
  }

  private stopWatching(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
