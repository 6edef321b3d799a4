import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { HubClient } from '../../src/cluster/backplanes/frames/hub/hub-client.js';
import { HUB_GONE } from '../../src/cluster/backplanes/frames/hub/hub-health.js';
import { framesBackplane } from '../../src/cluster/backplanes/frames/open.js';
import { HubThread } from '../../src/cluster/hub/hub-thread.js';
import { hubOnMesh } from '../../src/cluster/hub/mesh-hub.js';
import { HUB, Mesh } from '../../src/cluster/mesh/mesh.js';
import { ownWindow } from '../../src/engine/delivery/shared-window.js';
import { linksOf } from '../../src/host/runtime/backplane.js';
import { disconnectAll as disconnectPairs, pairOn } from '../io/rooms/support/clients.js';
import { onRedisFrames, startMember } from '../io/rooms/support/node.js';
import { connect, connected, disconnectAll, expectOk, nextEvent, upgraded } from '../support/clients.js';
import { RedisProcess, until } from '../support/redis.js';
import { type RunningServer, startServer } from '../support/server.js';
import { everyoneTalks, expectOnceAndInOrder } from '../support/talk.js';

const quiet = { onDown: () => {}, onUp: () => {} };

describe('two servers with a hub each', () => {
  let redis: RedisProcess;
  let servers: RunningServer[];

  beforeAll(async () => {
    redis = await RedisProcess.start();
    servers = await Promise.all(
      ['4', '1'].map((WORKERS) => startServer({ WORKERS, REDIS_URL: redis.url, HISTORY_TTL: '0' })),
    );
  });
  afterEach(disconnectAll);
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    await redis.remove();
  });

  test('20 default clients over both hear each message once and in order', async () => {
    const clients = Array.from({ length: 20 }, (_, index) => connect(servers[index % 2]!.url));
    await Promise.all(clients.map(upgraded));
    for (const client of clients) expectOk(await client.emitWithAck('join', 'hall'));
    expectOnceAndInOrder(await everyoneTalks(clients, 'hall', 20), clients.length, 20);
  });

  test('a session that began on one machine goes on on the other', async () => {
    const client = connect(servers[0]!.url, { transports: ['polling'] });
    await connected(client);
    const { id } = client.io.engine as unknown as { id: string };
    const answer = await fetch(`${servers[1]!.url}/socket.io/?EIO=4&transport=polling&sid=${id}`, {
      method: 'POST',
      body: '420["echo",5]',
    });
    expect([answer.status, await answer.text()]).toEqual([200, 'ok']);
  });

  test('a machine of four workers has at most three connections to Redis', async () => {
    const admin = new Redis(redis.url);
    const names = String(await admin.call('CLIENT', 'LIST'))
      .trim()
      .split('\n');
    admin.disconnect();
    // Those of both machines, and this one.
    expect(names.length).toBeLessThanOrEqual(2 * 3 + 1);
  });
});

test('a hub that ends is replaced, which its workers report once as an outage', async () => {
  const redis = await RedisProcess.start();
  const directory = await mkdtemp(join(tmpdir(), 'gjallar-hub-'));
  const mesh = new Mesh(1, directory);
  const address = { server: 'redis', url: redis.url, prefix: 'socket.io' } as const;
  const logged: string[] = [];
  const thread = new HubThread(new URL('../../build/cluster/hub/thread.js', import.meta.url), {
    ...{ directory, machine: 'machine0', address, meshed: () => [1], onStuck: () => {} },
    log: { error: (_fields: object, text: string) => logged.push(text) } as never,
  });
  const told: unknown[] = [];
  try {
    const client = new HubClient(1, 'machine0', hubOnMesh(mesh));
    await mesh.listen();
    await thread.start();
    await mesh.join([HUB]);
    const events = { onDown: (reason: string) => told.push(reason), onUp: () => told.push('up') };
    const bus = framesBackplane('redis-frames', {
      ...{ links: linksOf(mesh), machine: 'machine0', window: ownWindow(), hub: client, events },
    });
    const members = [await startMember(bus), await startMember(onRedisFrames(redis.url, quiet))] as const;
    const pairs = [await pairOn(members[0]), await pairOn(members[1])] as const;
    await Promise.all(pairs.map(({ socket }) => socket.join('room')));
    const across = nextEvent(pairs[1].client, 'across');
    members[0].io.to('room').emit('across', 1);
    expect(await across).toEqual([1]);

    thread.end();
    await until(() => told.includes(HUB_GONE));
    await bus.ready();
    expect(told).toEqual(['up', HUB_GONE, 'up']);
    expect(bus.traffic.outages).toBe(1);
    expect(logged.filter((text) => text.startsWith('the hub has ended'))).toHaveLength(1);
    for (const [from, to] of [[0, 1] as const, [1, 0] as const]) {
      // Until the hubs have met again, which takes seconds on a busy machine, messages between them may be lost.
      const heard: unknown[] = [];
      pairs[to].client.on('again', (given) => heard.push(given));
      await until(() => {
        members[from].io.to('room').emit('again', from);
        return heard.includes(from);
      });
    }
    disconnectPairs();
    for (const member of members) await member.close();
  } finally {
    await thread.close();
    mesh.close();
    await rm(directory, { recursive: true, force: true });
    await redis.remove();
  }
});
