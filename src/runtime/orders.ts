import type { FromPrimary, FromWorker } from '../cluster/protocol.js';

export function sendToPrimary(message: FromWorker): void {
  // Without its primary a worker ends at once. Until then sending may fail.
  process.send?.(message, undefined, undefined, () => {});
}

/** The primary's orders. Each can be awaited once. */
export interface Orders {
  next<T extends FromPrimary['type']>(type: T): Promise<Extract<FromPrimary, { type: T }>>;
  /** The latest order of a kind; undefined if there was none. */
  last<T extends FromPrimary['type']>(type: T): Extract<FromPrimary, { type: T }> | undefined;
}

export function receiveOrders(): Orders {
  const received = new Map<string, FromPrimary>();
  const waiting = new Map<string, (order: FromPrimary) => void>();
  process.on('message', (order: FromPrimary) => {
    received.set(order.type, order);
    waiting.get(order.type)?.(order);
  });
  return {
    next: <T extends FromPrimary['type']>(type: T) =>
      new Promise<Extract<FromPrimary, { type: T }>>((resolve) => {
        const order = received.get(type);
        const done = resolve as (order: FromPrimary) => void;
        if (order) done(order);
        else waiting.set(type, done);
      }),
    last: <T extends FromPrimary['type']>(type: T) =>
      received.get(type) as Extract<FromPrimary, { type: T }> | undefined,
  };
}
