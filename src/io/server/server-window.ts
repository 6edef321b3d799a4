import type { Server } from 'socket.io';
import { ownWindow, type SharedWindow } from '../../engine/delivery/shared-window.js';
import { Engine } from '../../engine/engine.js';
import { privateParts } from '../socket-io-server.private.js';

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
