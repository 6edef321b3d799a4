import type { Namespace } from 'socket.io';
import type { Adapter } from 'socket.io-adapter';
import type { AdapterFactory } from './native-rooms.js';
import { inMemory } from './recovery.js';

let bus: AdapterFactory = inMemory;

/** Connects all servers whose application sets no adapter with those of other workers. Call it before they are made. */
export function setDefaultBus(factory: AdapterFactory): void {
  bus = factory;
}

/** The adapter of a server whose application sets none. */
export function defaultBus(nsp: Namespace): Adapter {
  return bus(nsp);
}
