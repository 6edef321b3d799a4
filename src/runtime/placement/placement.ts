import type { KeyArrivals } from '../../backplanes/frames/key-arrivals.js';
import type { Engine } from '../../engine/engine.js';
import type { PlaceBy } from '../../engine/options.js';
import { keyOf } from '../../engine/session/place-key.js';
import type { Session } from '../../engine/session/session.js';
import { rankedKey } from './keys.js';

/** A key with clients on this worker. */
export interface PlacedKey {
  readonly name: string;
  readonly sessions: Set<Session>;
  /** The worker that the proxy has sent the key to since; undefined if that is this one. */
  newer: { readonly worker: string; readonly since: number } | undefined;
  /** How often the key has gone elsewhere lately. */
  turns: number;
  turnedAt: number;
}

/** Turns of a key that are farther apart do not add up, in ms. */
const FORGET_TURNS_MS = 600_000;
/** How many keys whose clients have left have their turns remembered. */
const MAX_LEFT = 10_000;

/**
 * Knows by which keys a proxy has placed the clients of this worker, and where the proxy sends each key now: to the worker
 * where a client of it has arrived last. Exists only with PLACE or the option `placeBy`.
 */
export class Placement {
  /** By the hash that workers announce. Two names with one hash count as one key. */
  readonly keys = new Map<number, PlacedKey>();
  /** The turns of keys without clients here: the proxy may send them here again. The oldest are first. */
  private readonly left = new Map<number, Pick<PlacedKey, 'turns' | 'turnedAt'>>();
  /** Clients without a key. */
  withoutKey = 0;
  private arrivals: KeyArrivals | undefined;
  private hasReported = false;

  /**
   * @param onFault called the first time that `placeBy` fails
   * @param arrivalsOf finds the arrivals once the backplane is open; undefined on a backplane without them
   */
  constructor(
    private readonly arrivalsOf: () => KeyArrivals | undefined,
    private readonly onFault: (fault: unknown) => void,
    private readonly now: () => number = () => performance.now(),
  ) {}

  watch(engine: Engine, placeBy: PlaceBy): void {
    engine.on('connection', (session: Session) => {
      const { request } = session;
      const key = keyOf(request, placeBy, (fault) => this.report(fault));
      const name = rankedKey(key, request);
      if (name) return this.enter(name, session);
      this.withoutKey++;
      session.once('close', () => this.withoutKey--);
    });
  }

  /** Whether the clients of a key are where the proxy sends it now. */
  isInPlace(hash: number, { newer }: PlacedKey): boolean {
    return !newer || !this.arrivals?.isAt(newer.worker, hash);
  }

  /** Clients by whether they are in their place. */
  get counts(): Record<'in' | 'out' | 'none', number> {
    const counts = { in: 0, out: 0, none: this.withoutKey };
    for (const [hash, key] of this.keys) counts[this.isInPlace(hash, key) ? 'in' : 'out'] += key.sessions.size;
    return counts;
  }

  private enter(name: string, session: Session): void {
    const arrivals = this.openArrivals();
    if (!arrivals) return;
    const hash = arrivals.hashOf(name);
    let key = this.keys.get(hash);
    if (!key) {
      const { turns, turnedAt } = this.left.get(hash) ?? { turns: 0, turnedAt: 0 };
      this.left.delete(hash);
      key = { name, sessions: new Set(), newer: undefined, turns, turnedAt };
      this.keys.set(hash, key);
      arrivals.enter(name);
    } else if (key.newer) {
      // The proxy sends the key here after all, or again.
      if (!this.isInPlace(hash, key)) arrivals.repeat(name);
      key.newer = undefined;
    }
    const placed = key;
    const { sessions } = placed;
    sessions.add(session);
    session.once('close', () => {
      sessions.delete(session);
      if (sessions.size > 0) return;
      this.keys.delete(hash);
      arrivals.leave(name);
      this.remember(hash, placed);
    });
  }

  private remember(hash: number, { turns, turnedAt }: PlacedKey): void {
    if (turns === 0) return;
    this.left.set(hash, { turns, turnedAt });
    if (this.left.size > MAX_LEFT) this.left.delete(this.left.keys().next().value!);
  }

  private report(fault: unknown): void {
    if (this.hasReported) return;
    this.hasReported = true;
    this.onFault(fault);
  }

  private openArrivals(): KeyArrivals | undefined {
    if (this.arrivals) return this.arrivals;
    this.arrivals = this.arrivalsOf();
    if (!this.arrivals) return undefined;
    this.arrivals.onArrival = (worker, hashes) => {
      for (const hash of hashes) {
        const key = this.keys.get(hash);
        if (!key) continue;
        const now = this.now();
        const isLongAgo = now - key.turnedAt > FORGET_TURNS_MS;
        key.turns = isLongAgo ? 1 : key.turns + 1;
        key.turnedAt = now;
        key.newer = { worker, since: now };
      }
    };
    return this.arrivals;
  }
}
