import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { PresenceMap } from '../../../public/gjallar-client.js';
import { createPresence, MAX_NAMED, type Presence } from '../../../src/features/presence/index.js';
import { alone } from '../../../src/io/server/default-adapter.js';
import { disconnectAll, pairOn } from '../../io/rooms/support/clients.js';
import { startNode, type TestNode } from '../../io/rooms/support/node.js';
import { until } from '../../support/until.js';

type Pair = Awaited<ReturnType<typeof pairOn>>;

let node: TestNode;
let presence: Presence<string>;
let pair: Pair;
let users: PresenceMap<string>;
let told: string[];

beforeEach(async () => {
  node = await startNode(alone);
  presence = createPresence<string>(node.io, { tellsMembers: true });
  node.io.on('connection', (socket) => presence.track(socket, 'ada', 'Ada L.'));
  pair = await pairOn(node, { reconnection: true, reconnectionDelay: 10 });
  users = new PresenceMap(pair.client, 'hall');
  told = [];
  users.on('join', (...what) => told.push(`join ${what}`)).on('leave', (...what) => told.push(`leave ${what}`));
});

afterEach(async () => {
  users.close();
  disconnectAll();
  presence.close();
  await node.close();
});

test('a client that joins later knows who is there, and is told who comes, changes and goes', async () => {
  presence.add('hall', 'ben', 'Ben');
  presence.add('yard', 'chen');
  await pair.socket.join('hall');
  await until(() => users.isComplete);
  const all = [
    ['ada', 'Ada L.'],
    ['ben', 'Ben'],
  ];
  await until(() => users.size === 2);
  expect([[...users].sort(), users.members]).toEqual([all, 2]);
  told = [];
  presence.add('hall', 'chen');
  presence.update(pair.socket, 'Countess');
  await until(() => users.size === 3);
  expect([users.get('ada'), users.members]).toEqual(['Countess', 3]);
  presence.remove('hall', 'ben');
  await until(() => users.size === 2);
  expect(told).toEqual(['join chen,', 'leave ben,Ben']);
});

test('a reconnection shows what it missed, and a large room is a number', async () => {
  presence.add('hall', 'ben');
  await pair.socket.join('hall');
  await until(() => users.size === 2);
  pair.client.io.engine.close();
  presence.remove('hall', 'ben');
  node.io.once('connection', (socket) => socket.join('hall'));
  await until(() => told.includes('leave ben,'));
  told = [];
  for (let user = 0; user < MAX_NAMED; user++) presence.add('hall', `user${user}`);
  await until(() => !users.isComplete);
  expect([users.size, users.members, told]).toEqual([0, MAX_NAMED + 1, []]);
  presence.remove('hall', 'user0');
  await until(() => users.isComplete);
  expect([users.size, users.members, told]).toEqual([MAX_NAMED, MAX_NAMED, []]);
});

test('a client that is in the room asks at once, and one that has closed its map hears nothing', async () => {
  await pair.socket.join('hall');
  const later = new PresenceMap<string>(pair.client, 'hall');
  await until(() => later.size === 1 && users.size === 1);
  later.close();
  presence.add('hall', 'ben');
  await until(() => users.size === 2);
  expect(later.size).toBe(1);
});
