import type { Adapter } from 'socket.io-adapter';
import { turnOffRecovery, wantsRecovery } from '../compat/socket-io.js';
import { type AdapterClass, type AdapterFactory, makeAdapter } from './native-rooms.js';

/**
 * Turns `connectionStateRecovery` off, with a warning, if the adapter cannot recover anything. socket.io itself reports
 * nothing, and some of those adapters then throw on every disconnect.
 */
export function withoutLostState(bus: AdapterFactory | AdapterClass): AdapterFactory {
  return (nsp) => {
    const adapter = makeAdapter(bus, nsp);
    if (wantsRecovery(nsp) && !canRecover(adapter)) {
      turnOffRecovery(nsp);
      process.emitWarning(
        `connectionStateRecovery is off, because ${adapter.constructor.name} cannot recover anything. Use ` +
          '@socket.io/redis-streams-adapter instead, or remove the option. See docs/compatibility.md.',
        { type: 'GjallarWarning', code: 'GJALLAR_NO_RECOVERY' },
      );
    }
    return adapter;
  };
}

/**
 * Whether an adapter overrides `restoreSession()` of socket.io-adapter's base class. There may be several copies of that
 * class.
 */
function canRecover(adapter: Adapter): boolean {
  let base: object | undefined;
  let at: object | null = adapter;
  while (at) {
    if (Object.hasOwn(at, 'restoreSession')) base = at;
    at = Object.getPrototypeOf(at);
  }
  return adapter.restoreSession !== (base as Adapter | undefined)?.restoreSession;
}
