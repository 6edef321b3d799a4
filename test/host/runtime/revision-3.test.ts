import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import connectV2 from 'socket.io-client-v2';
import { nextEvent } from '../../support/clients.js';
import { type RunningServer, startServer } from '../../support/server.js';
import { type ServiceHere, startServiceHere } from '../../support/service-here.js';

const open: { close(): unknown }[] = [];

afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

function clientV2(url: string, transports: string[]): SocketIOClientV2 {
  const socket = connectV2(url, { forceNew: true, reconnection: false, transports });
  open.push(socket);
  return socket;
}

describe.each(['true', 'false'])('with ALLOW_EIO3=%s', (allowed) => {
  let server: RunningServer | ServiceHere;
  beforeAll(async () => {
    // Where they are allowed, the test reaches for the worker without the session.
    server = await (allowed === 'true'
      ? startServer({ WORKERS: '2', ALLOW_EIO3: allowed })
      : startServiceHere({ ALLOW_EIO3: allowed }));
  });
  afterAll(() => server.stop());

  const all = [['polling'], ['websocket'], ['polling', 'websocket']];
  test.each(all.map((list) => [list.join(' and '), list] as const))(
    'a client of Socket.IO v2 on %s',
    async (_, list) => {
      // Several clients, so that some of them do.
      const clients = Array.from({ length: 6 }, () => clientV2(server.url, [...list]));
      const event = allowed === 'true' ? 'connect' : 'connect_error';
      await Promise.all(clients.map((one) => nextEvent(one as never, event)));
      if (allowed === 'false') return;
      for (const one of clients) {
        const back = new Promise((resolve) => one.emit('echo', 'ünïcödé ✓', resolve));
        expect(await back).toBe('ünïcödé ✓');
      }
    },
  );
});
