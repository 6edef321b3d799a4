import { afterEach, expect, jest, test } from '@jest/globals';
import { Server as OtherCopy } from 'socket.io-4.5';
import { createPresence } from '../../../src/features/presence/index.js';
import { alone } from '../../../src/io/server/default-adapter.js';
import { disconnectAll, pairOn } from '../../io/rooms/support/clients.js';
import { startNode } from '../../io/rooms/support/node.js';
import { atEnd } from '../../support/ends.js';
import { until } from '../../support/until.js';

afterEach(() => {
  disconnectAll();
  jest.restoreAllMocks();
});

/** Stock socket.io's own adapter, of another copy than the one that gjallar has. */
const stock = new OtherCopy().of('/').adapter.constructor as never;

test.each([
  ['gjallar', alone],
  ['another copy of socket.io', (nsp: never) => new (stock as new (nsp: never) => never)(nsp)],
])('presence works in silence in a process with the adapter of %s', async (_, adapter) => {
  const warnings = jest.spyOn(console, 'warn').mockImplementation(() => {});
  const node = await startNode(adapter as never);
  const presence = createPresence(node.io);
  const changed: string[] = [];
  presence.on('change', (room) => changed.push(room));
  const sent = jest.spyOn(node.io.of('/').adapter, 'serverSideEmit');
  try {
    const { socket, client } = await pairOn(node);
    presence.track(socket, 'ada');
    await socket.join('hall');
    expect(presence.usersOf('hall')).toEqual({ members: 1, users: new Map([['ada', undefined]]), sockets: new Map() });
    client.disconnect();
    await until(() => presence.usersOf('hall').members === 0);
    expect(changed).toEqual(['hall', 'hall']);
  } finally {
    presence.close();
    await node.close();
  }
  expect(sent).not.toHaveBeenCalled();
  expect(warnings).not.toHaveBeenCalled();
});

/** A server of its own, with presence, until the end of the test. */
async function startAlone() {
  const node = await startNode(alone);
  const presence = createPresence(node.io);
  atEnd(
    () => presence.close(),
    () => node.close(),
  );
  return { node, presence };
}

test('makes data known, counts users without a socket, and can leave rooms out', async () => {
  const node = await startNode(alone);
  const presence = createPresence<{ name: string } | string>(node.io, { isRoom: (room) => room.startsWith('hall') });
  atEnd(
    () => presence.close(),
    () => node.close(),
  );
  const { socket, client } = await pairOn(node);
  const data = { name: 'Ada L.' };
  presence.track(socket, 'ada', data);
  data.name = 'changed later';
  await socket.join(['hall', 'private']);
  presence.add('hall', 'ben', 'Ben');
  presence.add('hall', 'ben', 'Ben');
  expect([...presence.rooms()]).toEqual(['hall']);
  const known = () => Object.fromEntries(presence.usersOf('hall').users);
  expect(known()).toEqual({ ada: { name: 'Ada L.' }, ben: 'Ben' });
  presence.update(socket, 'Countess');
  await socket.join('hall of fame');
  expect(known()).toEqual({ ada: 'Countess', ben: 'Ben' });
  expect(presence.usersOf('hall of fame').users).toEqual(new Map([['ada', 'Countess']]));
  presence.remove('hall', 'ben');
  expect(presence.usersOf('hall').members).toBe(2);
  presence.remove('hall', 'ben');
  expect(presence.usersOf('hall').members).toBe(1);
  presence.update(socket, undefined);
  expect(known()).toStrictEqual({ ada: undefined });
  client.disconnect();
  await until(() => presence.rooms().size === 0);
});

test('rejects data that is too large or no JSON, and a socket that is tracked already', async () => {
  const node = await startNode(alone);
  const presence = createPresence<unknown>(node.io);
  const small = createPresence<unknown>(node.io.of('/small'), { maxDataBytes: 2 });
  atEnd(
    () => presence.close(),
    () => small.close(),
    () => node.close(),
  );
  const { socket } = await pairOn(node);
  const circle: { self?: unknown } = {};
  circle.self = circle;
  for (const data of ['é'.repeat(500), circle, () => 1, 1n]) {
    expect(() => presence.track(socket, 'ada', data)).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }));
  }
  presence.track(socket, 'ada', 'é'.repeat(499));
  expect(() => presence.track(socket, 'ada')).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }));
  expect(() => presence.update(socket, 'x'.repeat(999))).toThrow('at most 1000 bytes');
  small.add('hall', 'ada', 10);
  expect(() => small.add('hall', 'ada', 100)).toThrow('at most 2 bytes');
});

test('emits who joins and leaves, and nothing of a user who is back at once', async () => {
  const node = await startNode(alone);
  const presence = createPresence<string>(node.io);
  atEnd(
    () => presence.close(),
    () => node.close(),
  );
  const told: string[] = [];
  presence.on('join', (...what) => told.push(`join ${what}`)).on('leave', (...what) => told.push(`leave ${what}`));
  presence.add('hall', 'ada', 'Ada');
  await until(() => told.length === 1);
  presence.remove('hall', 'ada');
  presence.add('hall', 'ada', 'Ada');
  presence.add('hall', 'ben');
  await until(() => told.length === 2);
  presence.remove('hall', 'ada');
  presence.remove('hall', 'ben');
  await until(() => told.length === 4);
  expect(told).toEqual(['join hall,ada,Ada', 'join hall,ben,', 'leave hall,ada,Ada', 'leave hall,ben,']);
});

test('tells the members of a room who is there, and others nothing', async () => {
  const node = await startNode(alone);
  const presence = createPresence<string>(node.io, { tellsMembers: true });
  atEnd(
    () => presence.close(),
    () => node.close(),
  );
  const [ada, ben] = [await pairOn(node), await pairOn(node)];
  const told: unknown[] = [];
  for (const { client } of [ada, ben]) client.on('presence:update', (...what) => told.push(what));
  expect(await ada.client.emitWithAck('presence:users', 'hall')).toMatchObject({ ok: false, code: 'NOT_IN_ROOM' });
  presence.track(ada.socket, 'ada', 'Ada');
  await ada.socket.join('hall');
  await until(() => told.length === 1);
  expect(await ada.client.emitWithAck('presence:users', 'hall')).toEqual({
    ok: true,
    members: 1,
    users: [['ada', 'Ada']],
  });
  presence.add('hall', 'chen');
  presence.update(ada.socket, 'Countess');
  await until(() => told.length === 2);
  presence.remove('hall', 'chen');
  await until(() => told.length === 3);
  expect(told).toEqual([
    ['hall', { members: 1, users: [['ada', 'Ada']], left: [] }],
    ['hall', { members: 2, users: [['chen'], ['ada', 'Countess']], left: [] }],
    ['hall', { members: 1, users: [], left: ['chen'] }],
  ]);
});

test('rejects a user that is no text of at most 256 characters', async () => {
  const { node, presence } = await startAlone();
  const { socket } = await pairOn(node);
  await socket.join('hall');
  const rejection = expect.objectContaining({ code: 'BAD_INPUT', message: expect.stringContaining('256 characters') });
  for (const user of ['L'.repeat(20_000), 'L'.repeat(257), 7, undefined, { length: 1 }] as string[]) {
    expect(() => presence.track(socket, user)).toThrow(rejection);
    expect(() => presence.add('hall', user)).toThrow(rejection);
  }
  const longest = 'L'.repeat(256);
  // In UTF-8, and so between workers, each of these halves of a character is written with more characters.
  const halves = '\ud800'.repeat(256);
  presence.track(socket, longest);
  presence.add('hall', halves);
  expect(presence.usersOf('hall').members).toBe(2);
  expect([...presence.usersOf('hall').users.keys()]).toEqual([longest, halves]);
  presence.remove('hall', halves);
  expect(presence.usersOf('hall').members).toBe(1);
});

test('leaves out rooms with long names, and counts rooms of any type', async () => {
  const { node, presence } = await startAlone();
  const { socket } = await pairOn(node);
  const name = 'x'.repeat(1000);
  presence.track(socket, 'ada');
  const halves = '\ud800'.repeat(256);
  const rooms = [7, '7', name, halves, { toString: 1 }, 'hall'];
  for (const room of rooms) await socket.join(room as string);
  expect(presence.rooms() as Set<unknown>).toEqual(new Set([7, '7', halves, 'hall']));
  expect(presence.usersOf(7 as never).members).toBe(1);
});

test('rejects what is no room of at most 256 characters, and data for a socket that is not tracked', async () => {
  const { node, presence } = await startAlone();
  const { socket, client } = await pairOn(node);
  for (const room of ['x'.repeat(257), '\ud800'.repeat(257), 7, undefined, { length: 1 }] as string[]) {
    const message = expect.stringContaining('256 characters');
    expect(() => presence.add(room, 'ada')).toThrow(expect.objectContaining({ code: 'BAD_INPUT', message }));
  }
  const longest = ['x', '\ud800'].map((character) => character.repeat(256));
  for (const room of longest) presence.add(room, 'ada');
  expect(presence.rooms()).toEqual(new Set(longest));
  const early = expect.objectContaining({ code: 'BAD_INPUT', message: expect.stringContaining('track()') });
  expect(() => presence.update(socket, 'Ada')).toThrow(early);
  presence.track(socket, 'ada');
  presence.update(socket, 'Ada');
  const gone = new Promise((resolve) => socket.on('disconnect', resolve));
  client.disconnect();
  await gone;
  // What took a while may end after the socket has.
  presence.update(socket, 'Countess');
});
