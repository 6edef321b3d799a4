import type { Namespace, Server } from 'socket.io';
import type { Adapter } from 'socket.io-adapter';
import { queueMicrotask } from '../../base/clock.js';
import { pageOf, requireHere } from '../../base/package.js';
import { thisProcess } from '../../base/process.js';
import { ownWindow, type SharedWindow } from '../../engine/delivery/shared-window.js';
import { Engine } from '../../engine/engine.js';
import type * as Recoveries from '../../features/recovery/index.js';
import { type AdapterClass, type AdapterFactory, LocalAdapter, makeAdapter, overridesBase } from '../rooms/index.js';
import { turnOffRecovery, wantsRecovery } from '../socket-io.private.js';
import { privateParts } from '../socket-io-server.private.js';

const recoveries = new WeakMap<Server, Recoveries.Recovery>();

/** The adapter of a server without other workers. */
export function alone(nsp: Namespace): Adapter {
  if (!wantsRecovery(nsp)) return new LocalAdapter(nsp);
  const recovery =
    recoveries.get(nsp.server) ?? (requireHere('./features/recovery/index.js') as typeof Recoveries).openRecovery();
  recoveries.set(nsp.server, recovery);
  return recovery.wrap((of) => new LocalAdapter(of))(nsp);
}

declare module '../../base/process.js' {
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

/**
 * Turns `connectionStateRecovery` off, with a warning, if the adapter cannot recover anything. socket.io itself reports
 * nothing, and some of those adapters then throw on every disconnect.
 */
export function withoutLostState(bus: AdapterFactory | AdapterClass): AdapterFactory {
  return (nsp) => {
    const adapter = makeAdapter(bus, nsp);
    if (wantsRecovery(nsp) && !overridesBase(adapter, 'restoreSession')) {
      turnOffRecovery(nsp);
      process.emitWarning(
        `connectionStateRecovery is off, because ${adapter.constructor.name} cannot recover anything. Use ` +
          `@socket.io/redis-streams-adapter instead, or remove the option. See ${pageOf('docs/compatibility.md')}.`,
        { type: 'GjallarWarning', code: 'GJALLAR_NO_RECOVERY' },
      );
    }
    return adapter;
  };
}

/**
 * The window of the outbox of a server's engine, which the application may create after its namespaces.
 * @param longestMs the longest time that a message is held until then
 */
export function windowOf(io: Server, longestMs: number): SharedWindow {
  const own = ownWindow(longestMs);
  return {
    share: (flush) => {
      const holdEarly = own.share(flush);
      let hold: (() => void) | undefined;
      return () => {
        const { engine } = privateParts(io);
        if (engine instanceof Engine) hold ??= engine.outbox.share(flush);
        (hold ?? holdEarly)();
      };
    },
  };
}
