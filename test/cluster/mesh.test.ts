import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createConnection, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Mesh } from '../../src/cluster/mesh/mesh.js';
import { socketOf } from '../../src/cluster/protocol.js';
import { pack, senderOf } from '../../src/cluster/wire/envelope.js';
import { types } from '../../src/cluster/wire/types.js';
import { temporaryFolder } from '../support/folder.js';
import { until } from '../support/until.js';

let directory: string;
const closers: (() => void)[] = [];

beforeEach(() => {
  directory = temporaryFolder();
});

afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A worker's mesh, and what it has received and noticed. */
async function listen(id: number) {
  const mesh = new Mesh(id, directory);
  closers.push(() => mesh.close());
  await mesh.listen();
  const events: string[] = [];
  mesh.on({
    onMessage: (from, { body }) => events.push(`${from}: ${body}`),
    onLeave: (id) => events.push(`${id} is gone`),
  });
  return { mesh, events };
}

/** The sockets of a worker, whose connections a test ends one by one as the system may when a process is killed. */
async function listenWithSocket(id: number): Promise<{ accepted: Promise<Socket> }> {
  const server = createServer();
  closers.push(() => server.close());
  server.listen(socketOf(directory, id));
  await once(server, 'listening');
  return { accepted: once(server, 'connection').then(([socket]) => (socket as Socket).resume()) };
}

function connectTo(id: number): Socket {
  const socket = createConnection(socketOf(directory, id));
  closers.push(() => socket.destroy());
  return socket;
}

const welcomeFrom = (id: number) => pack({ type: types.welcome, part: 0, from: senderOf(id, '') });
const says = (text: string) => pack({ type: types.broadcast, part: 0, from: senderOf(2, '') }, text);

test('a worker is gone when all that it has sent is read', async () => {
  const { accepted } = await listenWithSocket(2);
  const { mesh, events } = await listen(1);
  const joined = mesh.join([2]);
  const there = await accepted;
  const back = connectTo(1);
  back.write(welcomeFrom(2));
  await joined;
  there.destroy();
  await once(there, 'close');
  // The other end notices that meanwhile.
  for (const text of ['one', 'two', 'three']) {
    back.write(says(text));
    await until(() => events.includes(`2: ${text}`));
  }
  back.end();
  await until(() => mesh.members.length === 0);
  expect(events).toEqual(['2: one', '2: two', '2: three', '2 is gone']);
});

test('a worker that is killed when it has just welcomed another one is heard by that one', async () => {
  const { accepted } = await listenWithSocket(2);
  const { mesh, events } = await listen(1);
  const joined = mesh.join([2]);
  const there = await accepted;
  there.destroy();
  const back = connectTo(1);
  back.write(welcomeFrom(2));
  back.end(says('one'));
  await joined;
  await until(() => mesh.members.length === 0);
  expect(events).toEqual(['2: one', '2 is gone']);
});

test('a worker that is killed before it has welcomed another one is gone', async () => {
  const { accepted } = await listenWithSocket(2);
  const { mesh, events } = await listen(1);
  const joined = mesh.join([2]);
  (await accepted).destroy();
  await joined;
  expect(mesh.members).toEqual([]);
  await until(() => events.length > 0);
  expect(events).toEqual(['2 is gone']);
});

test('two that say hello to each other at the same moment keep one link each way', async () => {
  const [one, two] = await Promise.all([listen(1), listen(2)]);
  await Promise.all([one.mesh.join([2]), two.mesh.join([1])]);
  one.mesh.send(2, says('one'));
  const incoming = ({ mesh }: typeof one) => (mesh as unknown as { incoming: Map<Socket, number> }).incoming.size;
  await until(() => two.events.length > 0 && incoming(one) === 1 && incoming(two) === 1);
  expect([one.mesh.members, two.mesh.members, one.events, two.events]).toEqual([[2], [1], [], ['1: one']]);
});

test('one that cannot listen leaves the socket that is there', async () => {
  await listen(1);
  const exits = process.listenerCount('exit');
  const second = new Mesh(1, directory);
  await expect(second.listen()).rejects.toMatchObject({ code: 'EADDRINUSE' });
  expect(process.listenerCount('exit')).toBe(exits);
  second.close();
  expect(existsSync(socketOf(directory, 1))).toBe(true);
});

test('what is flushed arrives although its sender ends in the same turn', async () => {
  const { mesh, events } = await listen(1);
  const other = await listen(2);
  await other.mesh.join([1]);
  await until(() => mesh.members.length === 1);
  other.mesh.send(1, says('lost or not'));
  other.mesh.flush();
  other.mesh.send(1, says('too late'));
  other.mesh.close();
  await until(() => mesh.members.length === 0);
  expect(events).toEqual(['2: lost or not', '2 is gone']);
});
