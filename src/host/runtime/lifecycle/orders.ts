import type { AddressInfo } from 'node:net';
import { replaceMethod } from '../../../base/foreign-objects.private.js';
import {
  type Envelope,
  type FromPrimary,
  type FromWorker,
  type ListenAddress,
  opened,
} from '../../../cluster/protocol.js';

type OrderOf<T extends FromPrimary['type']> = Extract<FromPrimary, { type: T }>;

/** The primary's orders, and what this worker tells the primary. */
export class Orders {
  private readonly received = new Map<string, FromPrimary>();
  private readonly listeners = new Map<string, (order: FromPrimary) => void>();
  private readonly claims = new Map<number, (claimed: OrderOf<'claimed'>) => void>();
  private lastClaim = 0;

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
    const id = this.lastClaim++;
    const { local, failure } = await new Promise<OrderOf<'claimed'>>((resolve) => {
      this.claims.set(id, resolve);
      this.send({ type: 'claim', id, address });
    });
    if (local) return local;
    const { code, message } = failure!;
    throw Object.assign(new Error(message), { code, syscall: 'listen', address: address.host, port: address.port });
  }

  receive(order: FromPrimary): void {
    if (order.type === 'claimed') {
      this.claims.get(order.id)?.(order);
      this.claims.delete(order.id);
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
  const orders = new Orders((message) => {
    const envelope: Envelope<FromWorker> = { gjallar: message };
    // Without its primary a worker ends at once. Until then sending may fail.
    process.send?.(envelope, undefined, undefined, () => {});
  }, process.channel);
  replaceMethod(process, 'emit', (_process, args, emit) => {
    const order = args[0] === 'message' ? opened<FromPrimary>(args[1]) : undefined;
    if (order) orders.receive(order);
    return order !== undefined || emit(...args);
  });
  // Node.js keeps messages back until there is a listener.
  process.on('message', () => {});
  return orders;
}
