import { afterEach, expect, jest, test } from '@jest/globals';
import { Server as OtherCopy } from 'socket.io-4.5';
import { createPresence } from '../../src/features/presence/index.js';
import { alone } from '../../src/io/server/default-adapter.js';
import { disconnectAll, pairOn } from '../io/rooms/support/clients.js';
import { startNode } from '../io/rooms/support/node.js';
import { atEnd } from '../support/ends.js';
import { until } from '../support/until.js';

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
    expect(presence.usersOf('hall')).toEqual({ members: 1, users: new Set(['ada']) });
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

test('makes display names known, counts users without a socket, and can leave rooms out', async () => {
  const node = await startNode(alone);
  const presence = createPresence(node.io, { isRoom: (room) => room.startsWith('hall') });
  try {
    const { socket, client } = await pairOn(node);
    presence.track(socket, 'ada', 'Ada L.');
    await socket.join(['hall', 'private']);
    presence.add('hall', 'ben', 'Ben');
    presence.add('hall', 'ben', 'Ben');
    expect([...presence.rooms()]).toEqual(['hall']);
    const names = () => Object.fromEntries(presence.usersOf('hall').names ?? []);
    expect(names()).toEqual({ ada: 'Ada L.', ben: 'Ben' });
    presence.rename(socket, 'Countess');
    await socket.join('hall of fame');
    expect(names()).toEqual({ ada: 'Countess', ben: 'Ben' });
    expect(presence.usersOf('hall of fame').names).toEqual(new Map([['ada', 'Countess']]));
    presence.remove('hall', 'ben');
    expect(presence.usersOf('hall').members).toBe(2);
    presence.remove('hall', 'ben');
    expect(presence.usersOf('hall').members).toBe(1);
    presence.rename(socket, undefined);
    expect(names()).toEqual({});
    client.disconnect();
    await until(() => presence.rooms().size === 0);
  } finally {
    presence.close();
    await node.close();
  }
});

test('bounds what clients choose as names, and counts rooms of any type', async () => {
  const node = await startNode(alone);
  const presence = createPresence(node.io);
  atEnd(
    () => presence.close(),
    () => node.close(),
  );
  const { socket } = await pairOn(node);
  const name = 'x'.repeat(1000);
  presence.track(socket, name);
  const rooms = [7, '7', name, { toString: 1 }, 'hall'];
  for (const room of rooms) await socket.join(room as string);
  expect(presence.rooms() as Set<unknown>).toEqual(new Set([7, '7', 'hall']));
  expect(presence.usersOf(7 as never).members).toBe(1);
  const [user] = presence.usersOf('hall').users;
  expect(user).toHaveLength(256);
  const other = await pairOn(node);
  presence.track(other.socket, `${name}y`);
  await other.socket.join('hall');
  expect(presence.usersOf('hall').members).toBe(2);
});
