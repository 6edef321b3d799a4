import type { Namespace, Server } from 'socket.io';
import type { Adapter } from 'socket.io-adapter';
import { thisProcess } from '../base/process.js';
import { wantsRecovery } from '../compat/socket-io.js';
import { loadPart } from '../package.js';
import type * as Recoveries from '../recovery/index.js';
import { type AdapterFactory, LocalAdapter } from '../rooms/index.js';

const recoveries = new WeakMap<Server, Recoveries.Recovery>();

/** The adapter of a server without other workers. */
export function alone(nsp: Namespace): Adapter {
  if (!wantsRecovery(nsp)) return new LocalAdapter(nsp);
  const recovery = recoveries.get(nsp.server) ?? loadPart<typeof Recoveries>('./recovery/index.js').openRecovery();
  recoveries.set(nsp.server, recovery);
  return recovery.wrap((of) => new LocalAdapter(of))(nsp);
}

declare module '../base/process.js' {
  interface ProcessHost {
    /** Connects the servers whose application sets no adapter with those of other workers. */
    adapter?: AdapterFactory;
  }
}

/** The adapter of a server whose application sets none. */
export function defaultBus(nsp: Namespace): Adapter {
  const adapter = (thisProcess.adapter ?? alone)(nsp);
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
