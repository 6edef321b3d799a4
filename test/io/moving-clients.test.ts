import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Server, type Socket } from 'socket.io';
import { io as connect } from 'socket.io-client';
import { clientOf, encodeConnects, isBusy, noteClient } from '../../src/io/moving-clients.private.js';
import { nextEvent } from '../support/clients.js';

let io: Server;
let client: ReturnType<typeof connect>;
let socket: Socket;

/** Whether something of the client is in progress. */
const busy = () => isBusy(clientOf(socket.conn)!);

beforeEach(async () => {
  const server = createServer().listen(0);
  if (!server.listening) await nextEvent(server, 'listening');
  io = new Server(server);
  const connected = nextEvent<[Socket]>(io, 'connection');
  client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { transports: ['websocket'] });
  [socket] = await connected;
  noteClient(socket);
});

afterEach(async () => {
  client.disconnect();
  await io.close();
});

test('a client is busy until the application has answered each of its events once', async () => {
  const answers: (() => void)[] = [];
  socket.on('ask', (answer: () => void) => answers.push(answer));
  const [first, second] = [client.emitWithAck('ask'), client.emitWithAck('ask')];
  await nextEvent(socket, 'ask');
  if (answers.length < 2) await nextEvent(socket, 'ask');
  expect(busy()).toBe(true);
  answers[0]!();
  answers[0]!();
  expect(busy()).toBe(true);
  answers[1]!();
  expect(busy()).toBe(false);
  await Promise.all([first, second]);
});

test('a client is busy until it has answered the application', async () => {
  client.on('ask', (answer: () => void) => answer());
  const answered = socket.emitWithAck('ask');
  expect(busy()).toBe(true);
  await answered;
  expect(busy()).toBe(false);
});

test('a client is busy while middleware of its socket has an event', async () => {
  let go = () => {};
  const held = new Promise<void>((resolve) => {
    socket.use((_event, next) => {
      go = next;
      resolve();
    });
  });
  client.emit('event');
  await held;
  expect(busy()).toBe(true);
  go();
  expect(busy()).toBe(false);
});

test('the packets with which a client returns are those of socket.io-client', () => {
  const connects = [
    { nsp: '/', auth: { pid: 'a', offset: 'b' } },
    { nsp: '/admin', auth: { pid: 'c', offset: 'd', token: 'e' } },
  ];
  expect(encodeConnects(io, connects)).toEqual([
    '0{"pid":"a","offset":"b"}',
    '0/admin,{"pid":"c","offset":"d","token":"e"}',
  ]);
});
