import { afterEach, describe, expect, test } from '@jest/globals';
import connectV2 from 'socket.io-client-v2';
import { serveGjallar } from '../support/application.js';
import { closeEngines, eventOf } from '../support/engine.js';

const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
  closeEngines();
});

async function serve(options = {}) {
  const served = await serveGjallar((io) => {
    for (const name of ['/', '/other']) {
      io.of(name).on('connection', (socket) => {
        socket.join('room');
        socket.on('echo', (...values) => values.pop()(...values));
        socket.on('shout', (...values) =>
          io
            .of(name)
            .to('room')
            .emit('shout', ...values),
        );
      });
    }
  }, options);
  open.push(served);
  return served;
}

function clientV2(url: string, transports: string[]): SocketIOClientV2 {
  const socket = connectV2(url, { forceNew: true, reconnection: false, transports });
  open.push(socket);
  return socket;
}

const transports = [['polling'], ['websocket'], ['polling', 'websocket']];

describe('a Socket.IO v2 client', () => {
  test.each(transports.map((list) => [list.join(' and '), list] as const))('takes part, on %s', async (_name, list) => {
    const { url, io } = await serve({ allowEIO3: true });
    const [one, two] = [clientV2(url, [...list]), clientV2(`${url}/other`, [...list])];
    await Promise.all([eventOf(one as never, 'connect'), eventOf(two as never, 'connect')]);
    const bytes = Buffer.from([0, 1, 255]);
    for (const socket of [one, two]) {
      const echo = new Promise((resolve) =>
        socket.emit('echo', 'ünïcödé ✓', { bytes }, (...back: unknown[]) => resolve(back)),
      );
      expect(await echo).toEqual(['ünïcödé ✓', { bytes }]);
      const shout = eventOf(socket as never, 'shout');
      socket.emit('shout', { bytes });
      expect(await shout).toEqual([{ bytes }]);
    }
    expect(io.engine.clientsCount).toBe(2);
    const gone = eventOf(one as never, 'disconnect');
    for (const socket of io.of('/').sockets.values()) socket.disconnect(true);
    expect(await gone).toEqual([expect.stringMatching(/^(io server disconnect|transport close)$/)]);
  });

  test('shares rooms with newer clients', async () => {
    const { url, io } = await serve({ allowEIO3: true });
    const sockets = [...transports, ...transports].map((list) => clientV2(url, list));
    await Promise.all(sockets.map((socket) => eventOf(socket as never, 'connect')));
    for (const text of ['one', 'two']) {
      const heard = sockets.map((socket) => eventOf(socket as never, 'shout'));
      io.to('room').emit('shout', text, Buffer.from(text));
      expect(await Promise.all(heard)).toEqual(sockets.map(() => [text, Buffer.from(text)]));
    }
  });

  test('is not let in where nobody said so', async () => {
    const { url, io } = await serve();
    const codes: number[] = [];
    io.engine.on('connection_error', ({ code }: { code: number }) => codes.push(code));
    for (const list of [['polling'], ['websocket']]) await eventOf(clientV2(url, list) as never, 'connect_error');
    expect(codes).toEqual([5, 5]);
  });
});
