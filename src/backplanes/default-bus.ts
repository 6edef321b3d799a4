import type { Namespace } from 'socket.io';
import type { Adapter } from 'socket.io-adapter';
import type { AdapterFactory } from '../rooms/index.js';
import { alone } from './alone.js';

let bus: AdapterFactory = alone;

/** Connects all servers whose application sets no adapter with those of other workers. Call it before they are made. */
export function setDefaultBus(factory: AdapterFactory): void {
  bus = factory;
}

/** The adapter of a server whose application sets none. */
export function defaultBus(nsp: Namespace): Adapter {
  const adapter = bus(nsp);
  initialize(adapter);
  return adapter;
}

/**
 * socket.io calls `init()` once the adapter is complete, but only from 4.8.2 on. Without that call, the other workers would
 * not count this one, and nothing would be kept for recovery.
 */
function initialize(adapter: Adapter): void {
  const { init } = adapter;
  let isDone = false;
  adapter.init = () => {
    if (isDone) return;
    isDone = true;
    return init.call(adapter);
  };
  queueMicrotask(() => adapter.init());
}
