import type { Namespace } from 'socket.io';
import { Adapter, SessionAwareAdapter } from 'socket.io-adapter';
import { wantsRecovery } from '../compat/socket-io.js';
import { GjallarError } from '../errors.js';
import type { AdapterFactory } from './native-rooms.js';

/** The adapter of a server without other workers, as socket.io chooses it. */
export function inMemory(nsp: Namespace): Adapter {
  return wantsRecovery(nsp) ? new SessionAwareAdapter(nsp) : new Adapter(nsp);
}

/** Rejects an adapter that cannot recover anything while connection state recovery is on. */
export function refusingLostState(bus: AdapterFactory): AdapterFactory {
  return (nsp) => {
    const adapter = bus(nsp);
    if (wantsRecovery(nsp) && adapter.restoreSession === Adapter.prototype.restoreSession) {
      adapter.close();
      throw new GjallarError(
        'BAD_CONFIG',
        `connectionStateRecovery does not work with ${adapter.constructor.name}; ` +
          'use @socket.io/redis-streams-adapter, or remove the option',
      );
    }
    return adapter;
  };
}
