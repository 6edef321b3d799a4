import { Adapter } from 'socket.io-adapter';

/** The adapter of a server that has no others. */
export class LocalAdapter extends Adapter {
  /** No other server is there to answer. The base class would let the application wait for ever. */
  override serverSideEmit(packet: unknown[]): void {
    const answer = packet.at(-1);
    if (typeof answer === 'function') answer(null, []);
  }
}

/** Whether an adapter joins its server with others. Stock socket.io's own adapter warns if it is asked to. */
export function hasOthers(adapter: Adapter): boolean {
  return overridesBase(adapter, 'serverSideEmit') && adapter.serverSideEmit !== LocalAdapter.prototype.serverSideEmit;
}

/** Whether an adapter overrides a method of socket.io-adapter's base class. There may be several copies of that class. */
export function overridesBase(adapter: Adapter, method: 'serverSideEmit' | 'restoreSession'): boolean {
  let base: object | undefined;
  for (let at: object | null = adapter; at; at = Object.getPrototypeOf(at)) if (Object.hasOwn(at, method)) base = at;
  return adapter[method] !== (base as Adapter | undefined)?.[method];
}
