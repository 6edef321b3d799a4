import { afterEach, expect, test } from '@jest/globals';
import type { Backplane } from '../../../../src/cluster/backplanes/backplane.js';
import type { TestNode } from '../../../io/rooms/support/node.js';
import { nextEvent } from '../../../support/clients.js';
import { atEnd } from '../../../support/ends.js';
import { RedisProcess } from '../../../support/redis.js';
import { until } from '../../../support/until.js';
import { Wire } from '../../../support/wire.js';
import { joinerOf, joinRedis, ofTest, type Wanderer } from '../support/recovering.js';

const joiners = {
  redis: (port: number) => joinRedis(`redis://127.0.0.1:${port}`),
  'redis-frames': (port: number) => joinRedis(`redis://127.0.0.1:${port}`, {}, 'redis-frames'),
};
const buses = Object.keys(joiners) as (keyof typeof joiners)[];

/** A server of its own, and what joins a machine to it, by default directly. */
async function serve(bus: (typeof buses)[number]): Promise<{ port: number; join(port?: number): Promise<Backplane> }> {
  const server = await RedisProcess.start();
  remove = () => server.remove();
  return { port: server.port, join: (port = server.port) => joiners[bus](port) };
}

const { nodes, clients, enter: client, start: startWorker } = ofTest();
let remove: (() => Promise<void>) | undefined;
let wire: Wire | undefined;

afterEach(async () => {
  wire?.close();
  wire = undefined;
  await remove?.();
});

async function start(join: () => Promise<Backplane>): Promise<TestNode> {
  const node = await startWorker(await join(), { skipMiddlewares: false });
  node.io.on('connection', (socket) => {
    if (socket.recovered) return;
    void socket.join('room');
    socket.emit('n', 'hello', 0);
  });
  await until(async () => (await node.io.of('/').adapter.serverCount()) === nodes.length);
  return node;
}

async function cutOff(one: Wanderer, from: TestNode): Promise<void> {
  await one.cutOff();
  await until(() => from.io.of('/').sockets.size === 0);
}

test.each(buses)(
  'a rolling restart of machines on %s: clients recover on machines that have just started',
  async (bus) => {
    const server = await serve(bus);
    const [first, second] = [await start(server.join), await start(server.join)] as const;
    const [one, other] = [await client(first), await client(second)] as const;
    first.io.to('room').emit('n', 'news', 1);
    for (const each of clients) await until(() => each.of('news').length === 1);
    await cutOff(one, first);
    second.io.to('room').emit('n', 'news', 2);
    await until(() => other.of('news').length === 2);
    // What its sender sends no more, and what a client that is away has missed, only the second machine knows.
    nodes.splice(0, 1);
    await first.close();
    const third = await start(server.join);
    await one.comeBack(third.url);
    await cutOff(other, second);
    third.io.to('room').emit('n', 'news', 3);
    nodes.splice(0, 1);
    await second.close();
    const fourth = await start(server.join);
    await other.comeBack(fourth.url);
    expect([one, other].map(({ recovered }) => recovered)).toEqual([[true], [true]]);
    fourth.io.to('room').emit('n', 'news', 4);
    for (const each of clients) await until(() => each.of('news').length >= 4);
    expect(clients.map((each) => each.of('news'))).toEqual([
      [1, 2, 3, 4],
      [1, 2, 3, 4],
    ]);
  },
);

test.each(buses)('a client on %s returns while another machine starts, whose workers have not begun', async (bus) => {
  const server = await serve(bus);
  const first = await start(server.join);
  const one = await client(first);
  await cutOff(one, first);
  const starting = await server.join();
  atEnd(() => starting.close());
  await until(() => starting.health.isUp);
  await one.comeBack(first.url);
  expect(one.recovered).toEqual([true]);
});

/** A client returns to the second machine, while the first one sends what its wire loses. It is let in then. */
async function returnDuringLoss(first: TestNode, second: TestNode, way: Wire, bus: Backplane): Promise<Wanderer> {
  const one = await client(second);
  first.io.to('room').emit('n', 'news', 1);
  await until(() => one.of('news').length === 1);
  await cutOff(one, second);
  let isFirst = true;
  const returns = new Promise<() => void>((resolve) => {
    second.io.use((_, next) => {
      if (isFirst) resolve(next);
      else next();
      isFirst = false;
    });
  });
  const back = one.comeBack(second.url);
  const letIn = await returns;
  // The second machine has asked the first one already.
  way.cut();
  await until(() => !bus.health.isUp);
  first.io.to('room').emit('n', 'news', 2);
  letIn();
  await back;
  return one;
}

async function expectAll(one: Wanderer, at: TestNode): Promise<void> {
  await one.comeBack(at.url);
  await until(() => one.of('news').length === 3);
  expect(one.recovered).toEqual([true, true]);
  expect(one.of('news')).toEqual([1, 2, 3]);
}

test('what a worker loses on redis, and its hub does not, shows with its next message', async () => {
  const server = await serve('redis');
  const way = await Wire.to(server.port);
  wire = way;
  const at = (port: number) => ({ bus: 'redis', redisUrl: `redis://127.0.0.1:${port}` }) as const;
  const backplane = (await joinerOf(at(way.port), at(server.port)))();
  const [first, second] = [await start(async () => backplane), await start(server.join)] as const;
  const one = await returnDuringLoss(first, second, way, backplane);
  const gone = nextEvent(one.socket, 'disconnect');
  way.mend();
  await until(() => backplane.health.isUp);
  first.io.to('room').emit('n', 'news', 3);
  await gone;
  await expectAll(one, second);
});

test.each(buses)('a client that returns while %s is unreachable gets a new session', async (bus) => {
  const server = await serve(bus);
  const way = await Wire.to(server.port);
  wire = way;
  const backplane = await server.join(way.port);
  const node = await start(async () => backplane);
  const one = await client(node);
  await cutOff(one, node);
  way.cut();
  await until(() => !backplane.health.isUp);
  await one.comeBack(node.url);
  expect(one.recovered).toEqual([false]);
});
