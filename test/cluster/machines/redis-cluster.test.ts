import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { isClusterUrl } from '../../../src/cluster/backplanes/redis/connection.js';
import { connect, disconnectAll, expectOk, upgraded } from '../../support/clients.js';
import { atEnd } from '../../support/ends.js';
import { RedisCluster, RedisProcess } from '../../support/redis.js';
import { startServer } from '../../support/server.js';

let cluster: RedisCluster;
let node: string;

beforeAll(async () => {
  cluster = await RedisCluster.start();
  node = cluster.processes[1]!.url;
});
afterEach(disconnectAll);
afterAll(() => cluster.remove());

/** A client on polling connects, all of whose requests but the handshake come to another server. */
async function expectRelayed(here: string, there: string): Promise<void> {
  const path = '/socket.io/?EIO=4&transport=polling';
  const { sid } = JSON.parse((await (await fetch(here + path)).text()).slice(1)) as { sid: string };
  const url = `${there}${path}&sid=${sid}`;
  expect(await (await fetch(url, { method: 'POST', body: '40' })).text()).toBe('ok');
  expect(await (await fetch(url)).text()).toMatch(/^40\{/);
  await fetch(url, { method: 'POST', body: '1' });
}

test.each([
  ['auto', 'redis-frames'],
  ['redis-frames', 'redis-frames'],
  ['redis', 'redis'],
])('with one node of a cluster in REDIS_URL and BUS=%s, every room keeps its messages', async (bus, used) => {
  // Frames also accept several nodes.
  const urls = [node, used === 'redis-frames' ? cluster.url : node];
  const servers = await Promise.all(urls.map((url) => startServer({ WORKERS: '1', REDIS_URL: url, BUS: bus })));
  atEnd(() => Promise.all(servers.map((server) => server.stop())));
  for (const { greeting } of servers) expect(greeting).toMatch(new RegExp(` on the ${used} bus$`));
  const [here, there] = servers.map(({ url }) => connect(url)) as [
    ReturnType<typeof connect>,
    ReturnType<typeof connect>,
  ];
  await Promise.all([upgraded(here), upgraded(there)]);
  // Rooms enough for each master to have some.
  const rooms = Array.from({ length: 30 }, (_, number) => `${bus} ${number}`);
  const missing = new Set(rooms);
  const allHeard = new Promise<void>((resolve) => {
    there.on('message', ({ room }) => {
      missing.delete(room);
      if (missing.size === 0) resolve();
    });
  });
  for (const room of rooms) {
    expectOk(await there.emitWithAck('join', room));
    expectOk(await here.emitWithAck('join', room));
    expectOk(await here.emitWithAck('message', { room, text: 'hello' }));
  }
  await allHeard;
  await expectRelayed(servers[0]!.url, servers[1]!.url);
  const { state } = (await (await fetch(`${servers[0]!.url}/readyz`)).json()) as { state: string };
  expect(state).toBe('ready');
});

test('Redis says whether it is a node of a cluster, even without the right to INFO', async () => {
  const redis = await RedisProcess.start();
  atEnd(() => redis.remove());
  for (const [url, isNode] of [
    [node, true],
    [redis.url, false],
  ] as const) {
    expect(await isClusterUrl(url)).toBe(isNode);
    const admin = new Redis(url);
    await admin.call('ACL', 'SETUSER', 'chat', 'on', '>secret', '+@all', '-info');
    expect(await isClusterUrl(url.replace('//', '//chat:secret@'))).toBe(isNode);
    await admin.call('ACL', 'SETUSER', 'chat', '-cluster');
    expect(await isClusterUrl(url.replace('//', '//chat:secret@'))).toBe(undefined);
    admin.disconnect();
  }
  await redis.stop();
  expect(await isClusterUrl(redis.url)).toBe(undefined);
});
