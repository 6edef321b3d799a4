import type { Socket } from 'node:net';
import { unsentBytes } from '../../engine/node/node-net.private.js';

/** Bytes that may wait on a link for longer than a moment. By then a burst, or the longest payload, has been read. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** How often the links are checked, in ms. */
const TURN_MS = 250;
/** After this number of turns the other end counts as stuck. */
const MAX_TURNS = 8;
/** A longer turn, in ms, means that this worker itself was busy and could not write. */
const MAX_TURN_MS = 300;

/**
 * Finds links whose other end does not keep up. Time is counted in turns of this worker's timer. Late turns do not count,
 * nor those in which less waits than before. So a worker that is itself held up blames no other worker, and one that reads a
 * burst slowly is not blamed.
 */
export class SlowPeerDetector {
  private readonly watched = new Map<Socket, { turns: number; waiting: number }>();
  private timer: NodeJS.Timeout | undefined;
  private lastTurn = 0;

  /** @param onStuck called with a link whose other end does not keep up */
  constructor(private readonly onStuck: (link: Socket) => void) {}

  /** Call this after each write. */
  check(link: Socket): void {
    if (link.writableLength <= MAX_WAITING_BYTES || this.watched.has(link)) return;
    this.watched.set(link, { turns: 0, waiting: 0 });
    if (this.timer) return;
    this.lastTurn = performance.now();
    this.timer = setInterval(() => this.onTurn(), TURN_MS);
  }

  close(): void {
    this.watched.clear();
    this.stopWatching();
  }

  private onTurn(): void {
    const now = performance.now();
    const isLate = now - this.lastTurn > MAX_TURN_MS;
    this.lastTurn = now;
    if (isLate) return;
    for (const [link, seen] of this.watched) {
      const waiting = unsentBytes(link);
      if (waiting >= seen.waiting) seen.turns++;
      seen.waiting = waiting;
      if (link.destroyed || waiting <= MAX_WAITING_BYTES) {
        this.watched.delete(link);
      } else if (seen.turns >= MAX_TURNS) {
        this.watched.delete(link);
        this.onStuck(link);
      }
    }
    if (this.watched.size === 0) this.stopWatching();
  }

  private stopWatching(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
