import type { Socket as TcpSocket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { Rooms } from '../../../public/gjallar-client.js';
import type { ChatMessage } from '../../../src/service/chat/protocol.js';
import { type ChatClient, connect, connected, disconnectAll, expectOk, nextEvent } from '../../support/clients.js';
import { type ServiceHere as RunningServer, startServiceHere as startServer } from '../../support/service-here.js';

let server: RunningServer;

beforeAll(async () => {
  server = await startServer({ MAX_BACKPRESSURE: '16384', WORKERS: '1' });
});
afterEach(disconnectAll);
afterAll(() => server.stop());

/** The TCP connection of a client that is on a WebSocket. */
function connectionOf(client: ChatClient): TcpSocket {
  const { ws } = client.io.engine.transport as unknown as { ws: { _socket: TcpSocket } };
  return ws._socket;
}

test('a client that was closed for being slow comes back, and has missed nothing', async () => {
  const slow = connect(server.url, { transports: ['websocket'], reconnectionDelay: 10, reconnectionDelayMax: 50 });
  await connected(slow);
  const heard: string[] = [];
  const rooms = new Rooms(slow);
  let told = () => {};
  await rooms.join('hall', {
    onMessage: ({ text }: { text: string }) => {
      heard.push(text);
      told();
    },
  });
  const writer = connect(server.url);
  const other: string[] = [];
  writer.on('message', ({ text }: ChatMessage) => other.push(text));
  expectOk(await writer.emitWithAck('join', 'hall'));

  const connection = connectionOf(slow);
  connection.pause();
  const closed = server.logged((line) => line.msg === 'a client was disconnected');
  const said: string[] = [];
  let isClosed = false;
  void closed.then(() => {
    isClosed = true;
  });
  // The system's buffers take some megabytes before anything waits in the server.
  while (!isClosed) {
    const texts = Array.from({ length: 50 }, (_, index) => `${said.length + index} ${'x'.repeat(9_900)}`);
    said.push(...texts);
    await Promise.all(texts.map(async (text) => expectOk(await writer.emitWithAck('message', { room: 'hall', text }))));
  }
  expect(await closed).toMatchObject({ reason: 'slow client' });
  const disconnected = nextEvent<[string, { context?: { code: number; reason: string } }]>(slow, 'disconnect');
  connection.resume();
  const [, details] = await disconnected;
  expect(details).toMatchObject({ context: { code: 1013, reason: 'SLOW_CLIENT' } });
  while (heard.length < said.length) {
    await new Promise<void>((resolve) => {
      told = resolve;
    });
  }
  expect(heard).toEqual(said);
  expect(other).toEqual(said);
});
