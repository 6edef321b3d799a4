import type { EventEmitter } from 'node:events';
import { setImmediate, setTimeout } from '../../base/clock.js';
import { GjallarError } from '../../base/errors.js';
import { own } from '../../base/owner.js';
import type { RequestCosts } from './request-costs.js';

/** How many requests of one client may wait. */
export const MAX_WAITING_PER_CLIENT = 8;
/** How many requests may wait in all, and the bytes that they keep. */
export const MAX_WAITING = 1000;
export const MAX_WAITING_BYTES = 32 * 1024 * 1024;
/** How many requests are in progress at the same time. */
const MAX_RUNNING = 4;
/** A client for which more bytes wait has to read them before its next request: several replies could be too much for it. */
export const MAX_UNREAD_BYTES = 64 * 1024;

interface Client {
  waiting: { readonly run: () => Promise<void>; readonly bytes: number }[];
  /** Whether one of its requests is in progress, or the client has to wait before the next one. */
  isBusy: boolean;
}

/**
 * Requests whose cost grows with what is stored: one at a time for each client, and four in all. Clients take turns, so
 * that one that asks for much delays the others by one request each at most, and everything else runs between two
 * requests. A client that owes something for the requests before waits until that is paid, and one that has not read
 * their replies, until it has.
 *
 * ```
 * const lists = new WorkQueue('lists of prices', engine.costs);
 * await lists.run(address, async () => {
 *   engine.costs.charge(address, 20 * prices.size);
 *   …
 * });
 * ```
 */
export class WorkQueue {
  private readonly clients = new Map<object | string, Client>();
  /** Clients whose next request may begin, in their order. */
  private ready: (object | string)[] = [];
  private running = 0;
  private waiting = 0;
  private waitingBytes = 0;

  /**
   * @param what the requests in words, for errors
   * @param costs what clients owe, such as the `costs` of an engine; without it, they owe nothing
   */
  constructor(
    private readonly what: string,
    private readonly costs?: Pick<RequestCosts, 'waitOf'>,
  ) {}

  /**
   * Runs a request when it is the client's turn, and resolves or rejects as it does.
   * @param client whatever tells clients apart: an address, or a session of the engine
   * @param bytes what the request keeps in memory until it is its turn
   * @throws GjallarError RATE_LIMITED with eight requests of the client waiting, OVERLOADED with 1,000 or 32 MiB in all
   */
  run<T>(client: object | string, work: () => Promise<T>, bytes = 0): Promise<T> {
    const known = this.clients.get(client);
    if (known && known.waiting.length >= MAX_WAITING_PER_CLIENT) {
      throw new GjallarError(
        'RATE_LIMITED',
        `${MAX_WAITING_PER_CLIENT} ${this.what} of this client are waiting. Wait for their replies before the next one.`,
      );
    }
    const isFull = this.waiting >= MAX_WAITING || (this.waiting > 0 && this.waitingBytes + bytes > MAX_WAITING_BYTES);
    if (isFull) throw new GjallarError('OVERLOADED');
    const entry = known ?? { waiting: [], isBusy: false };
    this.clients.set(client, entry);
    this.waiting++;
    this.waitingBytes += bytes;
    return new Promise((resolve, reject) => {
      // Also of work that throws before it returns its promise: the queue goes on.
      const run = async () => work();
      entry.waiting.push({ run: () => run().then(resolve, reject), bytes });
      if (!entry.isBusy && entry.waiting.length === 1) this.admit(client, entry);
    });
  }

  /** Has the client's next request begin once it owes nothing, and has read the replies before. */
  private admit(client: object | string, entry: Client): void {
    const again = () => this.admit(client, entry);
    const wait = this.costs?.waitOf(client) ?? 0;
    const behind = isBehind(client) ? client : undefined;
    entry.isBusy = wait > 0 || behind !== undefined;
    if (wait > 0) return void setTimeout(again, Math.ceil(wait));
    if (behind) return whenProgress(behind, again);
    this.ready.push(client);
    this.begin();
  }

  private begin(): void {
    while (this.running < MAX_RUNNING && this.ready.length > 0) {
      const client = this.ready.shift()!;
      this.running++;
      this.clients.get(client)!.isBusy = true;
      // A request may be synchronous, so the event loop gets its turn first.
      setImmediate(() => own(this.what, this.next(client)));
    }
  }

  private async next(client: object | string): Promise<void> {
    const entry = this.clients.get(client)!;
    const { run, bytes } = entry.waiting.shift()!;
    this.waiting--;
    this.waitingBytes -= bytes;
    await run();
    this.running--;
    // The reply is sent first.
    if (entry.waiting.length > 0) setImmediate(() => this.admit(client, entry));
    else this.clients.delete(client);
    this.begin();
  }
}

/** Whether a session has much to read. Nothing is known of other clients. */
function isBehind(client: object | string): client is EventEmitter {
  const { readyState, bufferedAmount = 0 } = client as { readyState?: unknown; bufferedAmount?: number };
  return readyState === 'open' && bufferedAmount > MAX_UNREAD_BYTES;
}

/** Calls back once a session has read something, or is closed. */
function whenProgress(session: EventEmitter, then: () => void): void {
  const done = () => {
    session.off('drain', done).off('close', done);
    then();
  };
  session.on('drain', done).on('close', done);
}
