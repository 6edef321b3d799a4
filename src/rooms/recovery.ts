import type { Namespace } from 'socket.io';
import { Adapter, SessionAwareAdapter } from 'socket.io-adapter';
import { wantsRecovery } from '../compat/socket-io.js';
import { GjallarError } from '../errors.js';
import type { AdapterFactory } from './native-rooms.js';

/** The adapter of a server that stands alone, as socket.io chooses it. */
export function inMemory(nsp: Namespace): Adapter {
  return wantsRecovery(nsp) ? new SessionAwareAdapter(nsp) : new Adapter(nsp);
}

/** Refuses a bus with which connection state recovery is on and never recovers anything. */
export function refusingLostState(bus: AdapterFactory): AdapterFactory {
  return (nsp) => {
    const adapter = bus(nsp);
    if (wantsRecovery(nsp) && adapter.restoreSession === Adapter.prototype.restoreSession) {
      adapter.close();
      throw new GjallarError(
        'BAD_CONFIG',
        `connectionStateRecovery does not work with ${adapter.constructor.name}: ` +
          'take @socket.io/redis-streams-adapter for the bus, or leave the option out',
      );
    }
    return adapter;
  };
}
