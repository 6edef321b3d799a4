import type { Writable } from 'node:stream';

/** So many bytes may wait on a link for longer than a moment: the longest payload or a burst is gone by then. */
const MOST_WAITING = 64 * 1024 * 1024;
/** In ms. */
const TURN = 250;
/** After so many turns the other end is taken for one that does not keep up. */
const MOST_TURNS = 8;
/** A turn that took longer, in ms, was one in which this worker was busy itself: it writes only between two things. */
const LONGEST_TURN = 300;

/**
 * Finds links on which more waits than the other end will ever read in time. It is counted in turns of this worker's
 * own timer that came in time, so that one that is itself held up, once or again and again, blames nobody.
 */
export class Backlogs<Link extends Writable> {
  private readonly turns = new Map<Link, number>();
  private timer: NodeJS.Timeout | undefined;
  private lastTurn = 0;

  /** @param onStuck called with a link whose other end does not keep up */
  constructor(private readonly onStuck: (link: Link) => void) {}

  /** To be called after each write. */
  check(link: Link): void {
    if (link.writableLength <= MOST_WAITING || this.turns.has(link)) return;
    this.turns.set(link, 0);
    if (this.timer) return;
    this.lastTurn = performance.now();
    this.timer = setInterval(() => this.onTurn(), TURN);
  }

  close(): void {
    this.turns.clear();
    this.stopWatching();
  }

  private onTurn(): void {
    const now = performance.now();
    const isLate = now - this.lastTurn > LONGEST_TURN;
    this.lastTurn = now;
    if (isLate) return;
    for (const [link, turns] of this.turns) {
      if (link.destroyed || link.writableLength <= MOST_WAITING) {
        this.turns.delete(link);
      } else if (turns + 1 < MOST_TURNS) {
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
