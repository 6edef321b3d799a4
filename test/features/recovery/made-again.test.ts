import { afterEach, expect, test } from '@jest/globals';
import type { Namespace } from 'socket.io';
import { startMember, type TestNode } from '../../io/rooms/support/node.js';
import { temporaryFolder } from '../../support/folder.js';
import { until } from '../../support/until.js';
import { joinMesh, Wanderer } from './support/recovering.js';

const nodes: TestNode[] = [];
const clients: Wanderer[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  for (const node of nodes.splice(0)) await node.close();
});

const NAME = '/child';

/** Two workers that remove a child namespace with its last client. */
async function start(): Promise<readonly [TestNode, TestNode]> {
  const directory = temporaryFolder();
  for (const id of [1, 2]) {
    const bus = await joinMesh(directory, id, id === 1 ? [] : [1]);
    const server = { connectionStateRecovery: {}, cleanupEmptyChildNamespaces: true };
    const node = await startMember(bus, { server });
    nodes.push(node);
    node.io.of(/^\/child$/).on('connection', (socket) => void (socket.recovered || socket.emit('n', 'hello', 0)));
  }
  return nodes as [TestNode, TestNode];
}

async function enter({ url }: TestNode): Promise<Wanderer> {
  const client = new Wanderer(url + NAME, 'websocket');
  clients.push(client);
  await client.heardAll(1);
  return client;
}

const childOf = ({ io }: TestNode): Namespace => io.of(NAME);

test('a namespace stays whose only client returns before its old connection is known to be dead', async () => {
  const [first, second] = await start();
  const [client] = [await enter(first), await enter(second)];
  await until(async () => (await childOf(second).adapter.serverCount()) === 2);
  const before = childOf(first);
  const { id } = client.socket;
  const again = new Wanderer(first.url + NAME, 'websocket', client.credentials);
  clients.push(again);
  await again.connected();
  expect(again.socket.id).toBe(id);
  expect(childOf(first) === before).toBe(true);
  expect(before.sockets.get(id!)?.recovered).toBe(true);
  childOf(second).emit('n', 'news', 1);
  await until(() => again.of('news').length === 1);
  // It is removed with its last client nevertheless.
  again.close();
  await until(async () => (await childOf(second).adapter.serverCount()) === 1);
});

test('a namespace that is made again goes on with its numbers', async () => {
  const [first, second] = await start();
  const [witness, away, last] = [await enter(second), await enter(second), await enter(first)];
  const serversAre = (count: number) => until(async () => (await childOf(second).adapter.serverCount()) === count);
  const news = (from: Namespace, number: number) => {
    from.emit('n', 'news', number);
    return until(() => witness.of('news').length === number);
  };
  await serversAre(2);
  const before = childOf(first);
  for (const number of [1, 2]) await news(before, number);
  await until(() => away.of('news').length === 2);
  await away.cutOff();
  await until(() => childOf(second).sockets.size === 1);
  await news(before, 3);
  await last.cutOff();
  await serversAre(1);
  const again = await enter(first);
  await serversAre(2);
  expect(childOf(first) === before).toBe(false);
  await news(childOf(first), 4);
  // The application may still have the one of before.
  await news(before, 5);
  await news(childOf(first), 6);
  await away.comeBack(first.url);
  expect(away.recovered).toEqual([true]);
  await until(() => away.of('news').length === 6);
  expect([witness.of('news'), away.of('news'), again.of('news')]).toEqual([
    [1, 2, 3, 4, 5, 6],
    [1, 2, 3, 4, 5, 6],
    [4, 6],
  ]);
});
