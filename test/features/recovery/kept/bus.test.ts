import { afterEach, expect, test } from '@jest/globals';
import { type Namespace, Server } from 'socket.io';
import { Adapter } from 'socket.io-adapter';
import type { HubLinkListener } from '../../../../src/base/hub-service.js';
import { openRecovery, type Recovery } from '../../../../src/features/recovery/index.js';
import { codec, type ToKeeper } from '../../../../src/features/recovery/messages.js';

let recovery: Recovery;

afterEach(() => recovery.close());

test('a keeper that begins while the bus is down is told so', async () => {
  const told: boolean[] = [];
  let hub!: HubLinkListener;
  recovery = openRecovery({
    link: {
      send: (bytes) => {
        for (const message of codec<never, ToKeeper>().decode(bytes as Buffer))
          if (message.type === 'bus') told.push(message.isUp);
        return true;
      },
      listen: (listener) => {
        hub = listener;
      },
    },
  });
  const factory = recovery.wrap((nsp) => new Adapter(nsp));
  // Not an arrow function: socket.io calls it as a constructor.
  const adapter = function adapterOf(nsp: Namespace) {
    return factory(nsp);
  };
  const io = new Server({ connectionStateRecovery: {}, adapter: adapter as never });
  io.of('/');
  hub.onHere();
  expect(told).toEqual([]);
  recovery.onBus(false);
  hub.onGone();
  hub.onHere();
  expect(told).toEqual([false]);
});
