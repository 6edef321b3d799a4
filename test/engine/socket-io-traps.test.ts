import { afterEach, describe, expect, test } from '@jest/globals';
import type { Server } from 'socket.io';
import { io as connect, type ManagerOptions, type Socket, type SocketOptions } from 'socket.io-client';
import { connected, nextEvent } from '../support/clients.js';
import { serveGjallar } from './support/application.js';
import { closeEngines, eventOf } from './support/engine.js';
import { closeWebSockets, openWebSocket } from './support/raw.js';

const open: { close(): unknown }[] = [];

afterEach(async () => {
  closeWebSockets();
  for (const one of open.splice(0).reverse()) await one.close();
  closeEngines();
});

async function serve(application: (io: Server) => void, options = {}) {
  const served = await serveGjallar(application, options);
  open.push(served);
  return served;
}

function client(url: string, options: Partial<ManagerOptions & SocketOptions> = {}): Socket {
  const socket = connect(url, { forceNew: true, reconnectionDelay: 10, ...options });
  open.push(socket);
  return socket;
}

describe('traps of Socket.IO', () => {
  test.each([['polling' as const], ['websocket' as const]])(
    'what joins a room in a middleware hears it, on %s',
    async (transport) => {
      const { io, url } = await serve((io) => {
        io.use((socket, next) => {
          socket.join('room');
          setImmediate(next);
        });
      });
      // Enough of them that the room is published to as a topic.
      const sockets = Array.from({ length: 5 }, () => client(url, { transports: [transport] }));
      await Promise.all(sockets.map(connected));
      for (const text of ['one', 'two']) {
        const heard = sockets.map((socket) => nextEvent(socket, 'text'));
        io.to('room').emit('text', text);
        expect(await Promise.all(heard)).toEqual(sockets.map(() => [text]));
      }
    },
  );

  test('a recovered socket still hears its rooms', async () => {
    const { io, url } = await serve(
      (io) => {
        io.on('connection', (socket) => {
          if (!socket.recovered) socket.join('room');
        });
      },
      { connectionStateRecovery: {} },
    );
    const sockets = Array.from({ length: 4 }, () => client(url, { transports: ['websocket'] }));
    await Promise.all(sockets.map(connected));
    const first = sockets.map((socket) => nextEvent(socket, 'text'));
    io.to('room').emit('text', 'before');
    await Promise.all(first);
    const [socket] = sockets as [Socket];
    const [gone, back] = [nextEvent(socket, 'disconnect'), nextEvent(socket, 'connect')];
    const heard: unknown[] = [];
    const fence = new Promise<void>((resolve) =>
      socket.on('text', (text) => {
        heard.push(text);
        if (text === 'fence') resolve();
      }),
    );
    socket.io.engine.close();
    await gone;
    io.to('room').emit('text', 'missed');
    await back;
    expect(socket.recovered).toBe(true);
    for (const text of ['after', 'fence']) io.to('room').emit('text', text);
    await fence;
    expect(heard).toEqual(['missed', 'after', 'fence']);
  });

  test.each([
    ['more attachments than are allowed', '4599999999-["a",{"_placeholder":true,"num":0}]'],
    ['a binary packet without attachments', '450-["a"]'],
    ['attachments that are not counted', '45-["a"]'],
    ['binary data that nobody announced', Buffer.of(1)],
  ])('%s ends the session', async (_name, packet) => {
    const { io, url } = await serve(() => {});
    const raw = openWebSocket(`${url}/socket.io/?EIO=4`);
    const connection = eventOf<[{ once(event: string, listener: (reason: string) => void): void }]>(io, 'connection');
    await raw.next();
    raw.send('40');
    const [socket] = await connection;
    const disconnected = nextEvent(socket as never, 'disconnect');
    await raw.next();
    raw.send(packet);
    await raw.closed;
    await disconnected;
    expect(io.engine.clientsCount).toBe(0);
  });
});
