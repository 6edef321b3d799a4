import { randomUUID } from 'node:crypto';
import type { StateRoom } from '../../../features/state/index.js';

/** The state room that the page `live.html` shows. */
export const DEMO_ROOM = 'demo quotes';

const SYMBOLS = ['ODIN', 'THOR', 'FREY', 'LOKI', 'TYR', 'ULLR', 'VALI', 'HEIM', 'IDUN', 'SIF', 'NJORD', 'BALDR'];
const TICK_MS = 100;
const CHANGES_PER_TICK = 4;
/** After this time without the changes of another worker, this one goes on. */
const SILENCE_MS = 1500;

interface Quote {
  price: number;
  /** How often the key has changed. */
  count: number;
  /** Grows with each change of the key. */
  at: number;
  /** The worker that has changed it. */
  by: string;
}

/**
 * Changes the quotes of the demo page while a client of this worker watches them, and emits the same changes to whoever wants
 * all of them. Of several such workers, the first by id goes on, and the others wait until it falls silent.
 */
export class DemoQuotes {
  private readonly id = randomUUID();
  private timer: NodeJS.Timeout | undefined;
  private otherAt = 0;

  /** @param emit to compare with, because a state room skips values */
  constructor(
    private readonly room: StateRoom,
    private readonly emit: (changes: readonly [symbol: string, quote: object][]) => void,
  ) {}

  /** Call it when a client watches the room. */
  watched(): void {
    this.timer ??= setInterval(() => this.tick(), TICK_MS);
  }

  close(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private tick(): void {
    const { room } = this;
    if (room.stats().members === 0) return this.close();
    if (performance.now() - this.otherAt < SILENCE_MS) return;
    const changes: [string, object][] = [];
    try {
      const first = Math.floor(Math.random() * SYMBOLS.length);
      for (let change = 0; change < CHANGES_PER_TICK; change++) {
        // Each key at most once, so that a fast client need not skip anything.
        const symbol = SYMBOLS[(first + 5 * change) % SYMBOLS.length]!;
        const quote = this.next(room.get(symbol) as Quote | undefined);
        room.set(symbol, quote);
        changes.push([symbol, quote]);
      }
    } catch {
      // The keys of other publishers have filled the bounds: the page then shows what there is.
    }
    this.emit(changes);
  }

  private next(before: Quote = { price: 100, count: 0, at: 0, by: this.id }): Quote {
    if (before.by < this.id && before.at > Date.now() - SILENCE_MS) this.otherAt = performance.now();
    const price = Math.max(1, Math.round((before.price + (Math.random() - 0.5) * 2) * 100) / 100);
    return { price, count: before.count + 1, at: Math.max(before.at + 1, Date.now()), by: this.id };
  }
}
