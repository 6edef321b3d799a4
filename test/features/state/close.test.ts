import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { featureFigures } from '../../../src/base/figures.js';
import { createStateRoom } from '../../../src/features/state/index.js';
import { disconnectAll, pairOn } from '../../io/rooms/support/clients.js';
import { Machine, startMember, type TestNode } from '../../io/rooms/support/node.js';
import { RedisProcess, untilAlone } from '../../support/redis.js';
import { until } from '../../support/until.js';
import { roomOn } from './support/room-on.js';
import { storedIn } from './support/stored.js';
import { View } from './support/view.js';

let redis: RedisProcess;
let machine: Machine;
const nodes: TestNode[] = [];

beforeEach(async () => {
  redis = await RedisProcess.start();
  machine = await Machine.start();
  await machine.startHub('machine0');
});
afterEach(async () => {
  disconnectAll();
  for (const node of nodes.splice(0)) await node.close();
  await machine.remove();
  await redis.remove();
});

async function start(): Promise<TestNode> {
  const node = await startMember(await machine.openBackplane());
  nodes.push(node);
  return node;
}

const EVENT = 'gjallar:state';

test('io.close() closes the rooms: the others know, Redis has the last change, and nothing is left', async () => {
  const [one, two] = [await start(), await start()];
  const options = { event: 'quote', store: 'redis', redis: redis.url } as const;
  const room = roomOn(one, 'quotes', options);
  await room.ready();
  const other = roomOn(two, 'quotes', { event: 'quote' });
  await other.ready();
  const { socket, client } = await pairOn(one);
  const view = new View(client, 'quote');
  room.join(socket);
  room.set('a', 1);
  await room.stored();
  await view.shows(({ a }) => a === 1);
  room.set('b', 2);
  await one.io.close();
  expect(await storedIn(redis.url)).toEqual({ a: '1', b: '2' });
  expect(featureFigures.read()).not.toContainEqual(['gjallar_state_store_up', [], expect.anything()]);
  expect(one.io.of('/').listenerCount(EVENT)).toBe(0);
  expect(room.join(socket)).toMatchObject({ ok: true });
  expect(room.stats().members).toBe(0);
  await until(() => other.get('b') === 2);
  await other.close();
  const observer = new Redis(redis.url);
  await untilAlone(observer);
  observer.disconnect();
});

test('a child namespace that socket.io removes takes its rooms along', async () => {
  const node = await start();
  const nsp = node.io.of('/live');
  const room = createStateRoom(nsp, 'quotes');
  await room.ready();
  await nsp.adapter.close();
  expect(nsp.listenerCount(EVENT)).toBe(0);
  // Its name is free again.
  const next = createStateRoom(nsp, 'quotes');
  next.set('a', 1);
  expect(next.size).toBe(1);
  await next.close();
});

test('what is set last reaches the others, however soon the room is closed', async () => {
  const [one, two] = [await start(), await start()];
  const [room, other] = [roomOn(one, 'quotes'), roomOn(two, 'quotes')];
  await Promise.all([room.ready(), other.ready()]);
  room.set('a', 1);
  await room.close();
  await until(() => other.get('a') === 1);
});
