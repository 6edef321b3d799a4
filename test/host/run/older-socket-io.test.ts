import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { io, type Socket } from 'socket.io-client';
import { nextEvent } from '../../support/clients.js';
import { type RunningApplication, runApp, stopAll } from './support/application.js';

interface Client {
  readonly socket: Socket;
  readonly pid: number;
}

const open: Socket[] = [];

let app: RunningApplication;

beforeAll(async () => {
  app = await runApp('older.mjs');
});
afterEach(() => {
  for (const socket of open.splice(0)) socket.disconnect();
});
afterAll(stopAll);

async function connect(): Promise<Client> {
  const socket = io(app.url, { forceNew: true, transports: ['websocket'], reconnection: false });
  open.push(socket);
  await nextEvent(socket, 'connect');
  socket.on('question', (answer: (text: string) => void) => answer('here'));
  const { pid } = (await socket.timeout(30_000).emitWithAck('worker')) as Client;
  return { socket, pid };
}

/** One client on each of two workers, and the others that the kernel gave to the first one. */
async function onTwoWorkers(): Promise<[Client, Client, number]> {
  const first = await connect();
  for (let count = 2; ; count++) {
    const next = await connect();
    if (next.pid !== first.pid) return [first, next, count];
  }
}

test('workers of socket.io 4.6 know each other from the start', async () => {
  const [first, second, count] = await onTwoWorkers();
  const everyone = Array.from({ length: count }, () => 'here');
  // Neither worker has sent the other one a message before it counts it.
  for (const { socket } of [first, second]) {
    expect(await socket.timeout(30_000).emitWithAck('count')).toBe(count);
    expect(await socket.timeout(30_000).emitWithAck('ask')).toEqual(everyone);
  }
});

test('clients of socket.io 4.6 recover with what they missed', async () => {
  const [{ socket }, other] = await onTwoWorkers();
  const heard: string[] = [];
  socket.on('said', (text: string) => heard.push(text));
  const before = nextEvent(socket, 'said');
  other.socket.emit('say', 'before');
  await before;
  const gone = nextEvent(socket, 'disconnect');
  socket.io.engine.close();
  await gone;
  const missed = nextEvent(other.socket, 'said');
  other.socket.emit('say', 'missed');
  await missed;
  const back = nextEvent(socket, 'connect');
  socket.connect();
  await back;
  expect(socket.recovered).toBe(true);
  const last = nextEvent(other.socket, 'said');
  socket.emit('say', 'last');
  await last;
  expect(await socket.timeout(30_000).emitWithAck('worker')).toMatchObject({ recovered: true });
  expect(heard).toEqual(['before', 'missed', 'last']);
});
