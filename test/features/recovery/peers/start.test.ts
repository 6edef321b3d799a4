import { beforeEach, expect, test } from '@jest/globals';
import { temporaryFolder } from '../../../support/folder.js';
import { until } from '../../../support/until.js';
import { LateLinks } from '../support/late-links.js';
import { joinMesh, ofTest, Wanderer } from '../support/recovering.js';

let directory: string;
const { nodes, clients, start: startWorker } = ofTest();

beforeEach(() => {
  directory = temporaryFolder();
});

async function start(id: number, late?: LateLinks) {
  const others = Array.from({ length: id - 1 }, (_, at) => at + 1);
  const node = await startWorker(await joinMesh(directory, id, others, {}, late?.of));
  node.io.on('connection', (socket) => {
    if (!socket.recovered) socket.emit('n', 'hello', 0);
  });
  return node;
}

test('a worker that starts has what the oldest worker has not received yet', async () => {
  const late = new LateLinks();
  const first = await start(1, late);
  const second = await start(2);
  const [witness, client] = [new Wanderer(first.url, 'websocket'), new Wanderer(second.url, 'websocket')];
  clients.push(witness, client);
  for (const one of clients) await one.heardAll(1);
  second.io.emit('n', 'news', 1);
  for (const one of clients) await one.heardAll(2);
  late.hold();
  second.io.emit('n', 'news', 2);
  await client.heardAll(3);
  const third = await start(3);
  await client.cutOff();
  await until(() => second.io.of('/').sockets.size === 0);
  await client.comeBack(third.url);
  expect(client.recovered).toEqual([true]);
  late.release();
  third.io.emit('n', 'end', 0);
  for (const one of clients) await until(() => one.of('end').length === 1);
  expect(clients.map((one) => one.of('news'))).toEqual([
    [1, 2],
    [1, 2],
  ]);
});

/** A client on the third worker, which has received from the first one what the third one and its witness get late. */
async function startAhead(kind: string) {
  const late = new LateLinks(2);
  const [first, second, third] = [await start(1), await start(2), await start(3, late)] as const;
  const [witness, client] = [new Wanderer(third.url, 'websocket'), new Wanderer(first.url, 'websocket')];
  clients.push(witness, client);
  for (const one of clients) await one.heardAll(1);
  late.hold();
  second.io.emit('n', 'news', 1);
  await client.heardAll(2);
  await client.cutOff();
  await until(() => first.io.of('/').sockets.size === 0);
  if (kind === 'new') client.forgetSession();
  // The third worker takes the second one for silent after a second.
  await client.comeBack(third.url);
  expect(client.recovered).toEqual([kind === 'recovered']);
  return { late, first, second, third, client };
}

test.each(['recovered', 'new'])(
  'a client with a %s session does not get again what its former worker had received first',
  async (kind) => {
    const { late, second } = await startAhead(kind);
    second.io.emit('n', 'news', 2);
    late.release();
    for (const one of clients) await until(() => one.of('news').includes(2));
    expect(clients.map((one) => one.of('news'))).toEqual([
      [1, 2],
      [1, 2],
    ]);
  },
);

test.each(['recovered', 'new'])(
  'nor when a client with a %s session returns once more, to a worker that has it',
  async (kind) => {
    const { first, second, third, client } = await startAhead(kind);
    // From this one on, its offset says what the third worker has.
    third.io.emit('n', 'other', 1);
    await until(() => client.of('other').length === 1);
    await client.cutOff();
    await until(() => third.io.of('/').sockets.size === 1);
    await client.comeBack(first.url);
    expect(client.recovered).toEqual([kind === 'recovered', true]);
    second.io.emit('n', 'news', 2);
    await until(() => client.of('news').includes(2));
    expect(client.of('news')).toEqual([1, 2]);
  },
);

test('nor what it has received since then, on a worker that has nothing of that sender', async () => {
  const [early, late] = [new LateLinks(2), new LateLinks(2)];
  const [first, second, third] = [await start(1), await start(2), await start(3, early)] as const;
  const fourth = await start(4, late);
  const client = new Wanderer(first.url, 'websocket');
  clients.push(client);
  await client.heardAll(1);
  for (const links of [early, late]) links.hold();
  second.io.emit('n', 'news', 1);
  await client.heardAll(2);
  await client.cutOff();
  await client.comeBack(third.url);
  early.release();
  for (const number of [2, 3]) second.io.emit('n', 'news', number);
  await client.heardAll(4);
  await client.cutOff();
  await client.comeBack(fourth.url);
  expect(client.recovered).toEqual([true, true]);
  late.release();
  second.io.emit('n', 'news', 4);
  await until(() => client.of('news').includes(4));
  expect(client.of('news')).toEqual([1, 2, 3, 4]);
});

test('a message to an id that a busy worker sends again to where the client has returned arrives once', async () => {
  const late = new LateLinks(2);
  const [first, second, third] = [await start(1), await start(2), await start(3, late)] as const;
  const client = new Wanderer(first.url, 'websocket');
  clients.push(client);
  await client.heardAll(1);
  const id = client.socket.id!;
  await client.cutOff();
  await until(() => first.io.of('/').sockets.size === 0);
  late.hold();
  const back = client.comeBack(second.url);
  // The second worker has announced the id, and the third one does not know yet.
  await until(() => late.size > 0);
  third.io.to(id).emit('n', 'own', 1);
  third.io.emit('n', 'all', 1);
  await back;
  expect(client.recovered).toEqual([true]);
  third.io.to(id).emit('n', 'own', 2);
  third.io.emit('n', 'all', 2);
  await until(() => client.of('all').length === 2);
  late.release();
  third.io.emit('n', 'end', 0);
  await until(() => client.of('end').length === 1);
  expect([client.of('own'), client.of('all')]).toEqual([
    [1, 2],
    [1, 2],
  ]);
});

test('a client that returns after all workers have started again gets what the new ones send', async () => {
  const first = await start(1);
  const client = new Wanderer(first.url, 'websocket');
  clients.push(client);
  await client.heardAll(1);
  for (let number = 1; number <= 20; number++) first.io.emit('n', 'news', number);
  await client.heardAll(21);
  await client.cutOff();
  nodes.splice(nodes.indexOf(first), 1);
  await first.close();
  const again = await start(1);
  await client.comeBack(again.url);
  expect(client.recovered).toEqual([false]);
  again.io.emit('n', 'more', 1);
  await until(() => client.of('more').length === 1);
});

test('a worker that is killed right after another one has ended loses no session', async () => {
  const [first, second, third] = [await start(1), await start(2), await start(3)] as const;
  const client = new Wanderer(third.url, 'websocket');
  clients.push(client);
  await client.heardAll(1);
  nodes.splice(nodes.indexOf(first), 1);
  await first.close();
  third.bus.close();
  await client.cutOff();
  await client.comeBack(second.url);
  expect(client.recovered).toEqual([true]);
});
