import type { Session } from '../../engine/session/session.js';
import type { PlacedKey, Placement } from './placement.js';

const TURN_MS = 500;
/** How many clients are disconnected in a turn. The worker that they come to has that much time to notice. */
const MAX_PER_TURN = 50;
/** How long a key must have been elsewhere. A proxy may send a few clients elsewhere because a health check was late. */
const SETTLE_MS = 5000;
/** A key that goes back and forth more often is left alone: the proxy does not place by it. */
const MAX_TURNS = 8;

/**
 * Disconnects clients that the proxy would send to another worker now, in small batches, so that they reconnect there:
 * after a machine was added, or has returned. Clients that recover their session miss nothing.
 */
export class PlaceMover {
  /** Clients disconnected since the start. */
  moved = 0;
  private readonly dismissed = new WeakSet<Session>();
  private hasWarned = false;
  private readonly timer: NodeJS.Timeout;

  /** @param onUnsettled called once if a key goes back and forth */
  constructor(
    private readonly placement: Placement,
    private readonly onUnsettled: (key: string) => void,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.timer = setInterval(() => this.turn(), TURN_MS).unref();
  }

  close(): void {
    clearInterval(this.timer);
  }

  turn(): void {
    let left = MAX_PER_TURN;
    for (const [hash, key] of this.placement.keys) {
      if (left === 0) return;
      if (this.isDue(hash, key)) left -= this.dismiss(key, left);
    }
  }

  private isDue(hash: number, key: PlacedKey): boolean {
    if (!key.newer || this.now() - key.newer.since < SETTLE_MS || this.placement.isInPlace(hash, key)) return false;
    if (key.turns <= MAX_TURNS) return true;
    if (!this.hasWarned) this.onUnsettled(key.name);
    this.hasWarned = true;
    return false;
  }

  private dismiss({ sessions }: PlacedKey, most: number): number {
    let count = 0;
    for (const session of sessions) {
      if (count === most) break;
      if (this.dismissed.has(session)) continue;
      this.dismissed.add(session);
      session.dismiss();
      count++;
    }
    this.moved += count;
    return count;
  }
}
