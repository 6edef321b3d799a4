import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { io, type Socket } from 'socket.io-client';
import { nextEvent } from '../../support/clients.js';
import { runApp, stopAll } from './support/application.js';

const sockets: Socket[] = [];
let url: string;

beforeAll(async () => {
  ({ url } = await runApp('parts/presence.mjs', { args: ['--workers', '3'] }));
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.disconnect();
});
afterAll(stopAll);

async function connect(url: string, user: string): Promise<Socket> {
  const socket = io(url, { forceNew: true, reconnection: false, auth: { user } });
  sockets.push(socket);
  await nextEvent(socket, 'connect');
  return socket;
}

/** Resolves once a socket has been told that its room has such users. */
function toldOf(socket: Socket, fits: (users: string[]) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const listener = (users: string[]) => {
      if (!fits(users)) return;
      socket.off('users', listener);
      resolve();
    };
    socket.on('users', listener);
  });
}

const told = (socket: Socket, users: string[]) => toldOf(socket, (now) => users.every((user) => now.includes(user)));
const toldWithout = (socket: Socket, user: string) => toldOf(socket, (now) => !now.includes(user));

test('presence knows the users of a room on all workers, each of them once', async () => {
  const watcher = await connect(url, 'Watcher');
  await watcher.emitWithAck('join', 'hall');
  const all = told(watcher, ['Ada', 'Bo', 'Watcher']);
  const users: Socket[] = [];
  const pids = new Set<number>();
  // The system may give all of them to one worker.
  while (users.length < 6 || pids.size < 2) {
    const user = await connect(url, users.length % 2 === 0 ? 'Ada' : 'Bo');
    users.push(user);
    pids.add(await user.emitWithAck('join', 'hall'));
  }
  await all;
  expect(await nextAnswer(watcher, 'hall')).toEqual([['Ada', 'Bo', 'Watcher'], 3]);
  expect(await nextAnswer(watcher, 'nowhere')).toEqual([[], 0]);

  const withoutBo = toldWithout(watcher, 'Bo');
  const [first, ...others] = users.filter((_, index) => index % 2 === 1) as [Socket, ...Socket[]];
  first.emit('leave', 'hall');
  for (const other of others) other.disconnect();
  await withoutBo;
});

function nextAnswer(socket: Socket, room: string): Promise<unknown[]> {
  return new Promise((resolve) => socket.emit('users', room, (...values: unknown[]) => resolve(values)));
}
