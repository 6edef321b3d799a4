import type { Namespace } from 'socket.io';
import { Adapter, SessionAwareAdapter } from 'socket.io-adapter';
import { type AdapterClass, type AdapterFactory, makeAdapter } from './native-rooms.js';

/** The adapter of a server that stands alone, as socket.io chooses it. */
export function inMemory(nsp: Namespace): Adapter {
  return wantsRecovery(nsp) ? new SessionAwareAdapter(nsp) : new Adapter(nsp);
}

/**
 * Turns `connectionStateRecovery` off, with a warning, where the adapter cannot recover anything: socket.io itself says
 * nothing, and some of those adapters then throw with every disconnect.
 */
export function withoutLostState(bus: AdapterFactory | AdapterClass): AdapterFactory {
  return (nsp) => {
    const adapter = makeAdapter(bus, nsp);
    if (wantsRecovery(nsp) && !canRecover(adapter)) {
      optionsOf(nsp).connectionStateRecovery = undefined;
      process.emitWarning(
        `connectionStateRecovery is off, because ${adapter.constructor.name} cannot recover anything. Use ` +
          '@socket.io/redis-streams-adapter instead, or leave the option out. See docs/compatibility.md.',
        { type: 'GjallarWarning', code: 'GJALLAR_NO_RECOVERY' },
      );
    }
    return adapter;
  };
}

/** Whether an adapter replaces `restoreSession()` of socket.io-adapter's base class, of which there may be other copies. */
function canRecover(adapter: Adapter): boolean {
  let base: object | undefined;
  let at: object | null = adapter;
  while (at) {
    if (Object.hasOwn(at, 'restoreSession')) base = at;
    at = Object.getPrototypeOf(at);
  }
  return adapter.restoreSession !== (base as Adapter | undefined)?.restoreSession;
}

function wantsRecovery(nsp: Namespace): boolean {
  return Boolean(optionsOf(nsp).connectionStateRecovery);
}

function optionsOf(nsp: Namespace): { connectionStateRecovery?: unknown } {
  return (nsp.server as unknown as { opts: { connectionStateRecovery?: unknown } }).opts;
}
