import type { Namespace, Server } from 'socket.io';
import type { Adapter } from 'socket.io-adapter';
import { wantsRecovery } from '../compat/socket-io.js';
import { openRecovery, type Recovery } from '../recovery/index.js';
import { LocalAdapter } from '../rooms/index.js';

const recoveries = new WeakMap<Server, Recovery>();

/** The adapter of a server without other workers. */
export function alone(nsp: Namespace): Adapter {
  if (!wantsRecovery(nsp)) return new LocalAdapter(nsp);
  const recovery = recoveries.get(nsp.server) ?? openRecovery();
  recoveries.set(nsp.server, recovery);
  return recovery.wrap((of) => new LocalAdapter(of))(nsp);
}
