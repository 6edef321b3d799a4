import { own } from '../../base/owner.js';
import { GjallarError } from '../../errors.js';

/** How many reads of one client may wait. */
export const MAX_WAITING_PER_CLIENT = 8;
/** How many reads may wait in all. */
export const MAX_WAITING = 1000;
/** How many reads are in progress at the same time. */
const MAX_RUNNING = 4;

interface Client {
  waiting: (() => Promise<void>)[];
  isReading: boolean;
}

/**
 * Reads of the history: one at a time for each client, and a few in all. Clients take turns, so that one that asks for
 * much delays the others by one read each at most, and everything else runs between two reads.
 */
export class ReadQueue {
  private readonly clients = new Map<unknown, Client>();
  /** Clients whose next read may begin, in their order. */
  private ready: unknown[] = [];
  private running = 0;
  private waiting = 0;

  /**
   * @param client whatever tells clients apart
   * @throws GjallarError RATE_LIMITED, OVERLOADED when too many reads are waiting
   */
  run<T>(client: unknown, read: () => Promise<T>): Promise<T> {
    const known = this.clients.get(client);
    if (known && known.waiting.length >= MAX_WAITING_PER_CLIENT) {
      throw new GjallarError(
        'RATE_LIMITED',
        `${MAX_WAITING_PER_CLIENT} history reads of this client are waiting. Wait for their replies before the next one.`,
      );
    }
    if (this.waiting >= MAX_WAITING) throw new GjallarError('OVERLOADED');
    const entry = known ?? { waiting: [], isReading: false };
    this.clients.set(client, entry);
    this.waiting++;
    return new Promise((resolve, reject) => {
      entry.waiting.push(() => read().then(resolve, reject));
      if (!entry.isReading && entry.waiting.length === 1) this.ready.push(client);
      this.begin();
    });
  }

  private begin(): void {
    while (this.running < MAX_RUNNING && this.ready.length > 0) {
      const client = this.ready.shift();
      this.running++;
      this.clients.get(client)!.isReading = true;
      // A read may be synchronous, so the event loop gets its turn first.
      setImmediate(() => own('reading from the history', this.next(client)));
    }
  }

  private async next(client: unknown): Promise<void> {
    const entry = this.clients.get(client)!;
    const read = entry.waiting.shift()!;
    this.waiting--;
    await read();
    this.running--;
    entry.isReading = false;
    if (entry.waiting.length > 0) this.ready.push(client);
    else this.clients.delete(client);
    this.begin();
  }
}
