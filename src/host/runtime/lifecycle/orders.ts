import type { AddressInfo } from 'node:net';
import { GjallarError } from '../../../base/errors.js';
import { replaceMethod } from '../../../base/foreign-objects.private.js';
import {
  type FromPrimary,
  type FromWorker,
  type ListenAddress,
  opened,
  type Passed,
} from '../../../cluster/protocol.js';

type OrderOf<T extends FromPrimary['type']> = Extract<FromPrimary, { type: T }>;

/** The primary's orders, and what this worker tells the primary. */
export class Orders {
  private readonly received = new Map<string, FromPrimary>();
  private readonly listeners = new Map<string, (order: FromPrimary) => void>();
  /** What waits for an answer of the primary. */
  private readonly waiting = new Map<number, (answer: FromPrimary) => void>();
  private lastId = 0;

  /**
   * @param send sends a message to the primary
   * @param channel the way to the primary, which keeps this process alive; by default, something else does
   */
  constructor(
    readonly send: (message: FromWorker) => void,
    readonly channel: { ref(): void; unref(): void } = { ref: () => {}, unref: () => {} },
  ) {}

  /** Resolves with the first order of a kind. Each kind can be awaited once. */
  next<T extends FromPrimary['type']>(type: T): Promise<OrderOf<T>> {
    return new Promise((resolve) => {
      const order = this.received.get(type);
      if (order) resolve(order as OrderOf<T>);
      else this.on(type, resolve);
    });
  }

  /** Calls back with each order of a kind from now on. There is one listener for each kind. */
  on<T extends FromPrimary['type']>(type: T, listener: (order: OrderOf<T>) => void): void {
    this.listeners.set(type, listener as (order: FromPrimary) => void);
  }

  /** The latest order of a kind; undefined if there was none. */
  last<T extends FromPrimary['type']>(type: T): OrderOf<T> | undefined {
    return this.received.get(type) as OrderOf<T> | undefined;
  }

  /**
   * Asks the primary for an address that this worker shares with the others.
   * @throws an error as node:net's `listen()` reports it
   */
  async claim(address: ListenAddress): Promise<AddressInfo> {
    const { local, failure } = await this.ask<'claimed'>((id) => ({ type: 'claim', id, address }));
    if (local) return local;
    const { code, message } = failure!;
    throw Object.assign(new Error(message), { code, syscall: 'listen', address: address.host, port: address.port });
  }

  /**
   * Asks the primary for the metrics of all workers, in the text format of Prometheus.
   * @throws GjallarError OVERLOADED if it cannot read them
   */
  async scrape(): Promise<string> {
    const { text } = await this.ask<'scraped'>((id) => ({ type: 'scrape', id }));
    if (text === undefined) throw new GjallarError('OVERLOADED', 'The metrics cannot be read. The log says why.');
    return text;
  }

  private ask<T extends 'claimed' | 'scraped'>(question: (id: number) => FromWorker): Promise<OrderOf<T>> {
    const id = this.lastId++;
    return new Promise((resolve) => {
      this.waiting.set(id, resolve as (answer: FromPrimary) => void);
      this.send(question(id));
    });
  }

  receive(order: FromPrimary): void {
    if (order.type === 'claimed' || order.type === 'scraped') {
      this.waiting.get(order.id)?.(order);
      this.waiting.delete(order.id);
      return;
    }
    this.received.set(order.type, order);
    this.listeners.get(order.type)?.(order);
  }
}

/**
 * Receives the primary's orders. All other messages are for the application of this worker, which does not see the
 * orders.
 */
export function receiveOrders(): Orders {
  const send = (message: FromWorker) => {
    const envelope: Passed<FromWorker> = { gjallar: message };
    // Without its primary a worker ends at once. Until then sending may fail.
    process.send?.(envelope, undefined, undefined, () => {});
  };
  const orders = new Orders(send, process.channel);
  replaceMethod(process, 'emit', (_process, args, emit) => {
    const order = args[0] === 'message' ? opened<FromPrimary>(args[1]) : undefined;
    if (order) orders.receive(order);
    return order !== undefined || emit(...args);
  });
  // Node.js keeps messages back until there is a listener.
  process.on('message', () => {});
  return orders;
}
