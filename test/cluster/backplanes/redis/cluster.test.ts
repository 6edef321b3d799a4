import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Backplane } from '../../../../src/cluster/backplanes/backplane.js';
import { disconnectAll, type Pair, pairOn } from '../../../io/rooms/support/clients.js';
import { machinesOn, onRedisFrames, startMember, type TestNode } from '../../../io/rooms/support/node.js';
import { RedisCluster, type RedisProcess, until } from '../../../support/redis.js';
import { busContract } from '../bus.contract.js';
import { onHubs } from '../support/garbage.js';
import { toldBy } from '../support/told.js';

/** Frames on the pub/sub of a Redis Cluster: hubs use different nodes of it. */

let cluster: RedisCluster;

beforeAll(async () => {
  cluster = await RedisCluster.start();
});
afterAll(() => cluster.remove());

busContract('redis-frames', async () => {
  const address = { server: 'redis', url: cluster.url, prefix: 'socket.io' } as const;
  return { ...(await machinesOn('redis-frames', address)), sendGarbage: () => onHubs(cluster.processes[0]!.url) };
});

describe('frames on a cluster whose nodes fail', () => {
  type Member = TestNode & { bus: Backplane; told: string[] };

  const DOWN = expect.stringMatching(/^Redis is unreachable: ./);

  let members: Member[] = [];
  let pairs: [Pair, Pair];

  afterEach(async () => {
    disconnectAll();
    for (const member of members) await member.close();
    members = [];
  });

  /** Two machines with a worker each, and a client of each in a room. */
  async function start(url = cluster.url, machines = ['machine0', 'machine1']): Promise<void> {
    for (const machine of machines) {
      const bus = onRedisFrames(url, 'socket.io', machine);
      const told = toldBy(bus);
      members.push({ ...(await startMember(bus)), told });
      expect(told.splice(0)).toEqual(['up']);
    }
    pairs = (await Promise.all(members.map((member) => pairOn(member)))) as [Pair, Pair];
    for (const { socket } of pairs) await socket.join('room');
  }

  const numbersOf = (pair: Pair, event: string) =>
    pair.received.filter(([name]) => name === event).map(([, number]) => number as number);

  /** Whatever is sent from now on arrives, in both directions and in order. */
  async function expectSpanned(event: string): Promise<void> {
    const all = Array.from({ length: 50 }, (_, number) => number);
    for (const [from, { io }] of members.entries()) {
      for (const number of all) io.to('room').emit(event, number);
      const heard = () => numbersOf(pairs[1 - from]!, event);
      await until(() => heard().includes(49));
      expect(heard()).toEqual(all);
      for (const { received } of pairs) received.length = 0;
    }
  }

  async function onNode<T>({ url }: RedisProcess, act: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = new Redis(url);
    try {
      return await act(redis);
    } finally {
      redis.disconnect();
    }
  }

  test('a user with the rights that docs/operations/redis.md lists for frames on a cluster can use it', async () => {
    const docs = readFileSync(new URL('../../../../docs/operations/redis.md', import.meta.url), 'utf8');
    const [, rights] = /^ {4}ACL SETUSER chat on >secret (.*&socket\.io:frames\*.*)$/m.exec(docs)!;
    for (const redis of cluster.processes) {
      await onNode(redis, (node) =>
        node.call('ACL', 'SETUSER', 'chat', 'reset', 'on', '>secret', ...rights!.split(' ')),
      );
    }
    await start(cluster.url.replaceAll('//', '//chat:secret@'));
    await expectSpanned('allowed');
    expect(members.map(({ told }) => told)).toEqual([[], []]);

    // What Redis rejects is named.
    for (const redis of cluster.processes)
      await onNode(redis, (node) => node.call('ACL', 'SETUSER', 'chat', '-publish'));
    members[0]!.io.to('room').emit('rejected');
    await until(() => members[0]!.told.length > 0);
    expect(members[0]!.told).toEqual([
      expect.stringMatching(/^Redis rejects the command PUBLISH \(NOPERM\): PUBLISH: NOPERM/),
    ]);
    for (const redis of cluster.processes)
      await onNode(redis, (node) => node.call('ACL', 'SETUSER', 'chat', '+publish'));
    await until(() => members.every(({ bus }) => bus.health.isUp));
    await expectSpanned('allowed again');
  });

  test('a node that hangs is noticed, and others take its place', async () => {
    await start();
    const isUsed = await Promise.all(
      cluster.processes.map((redis) =>
        onNode(redis, async (node) => (await node.pubsub('CHANNELS', '*:machine0')).length === 1),
      ),
    );
    const used = cluster.processes[isUsed.indexOf(true)]!;
    used.signal('SIGSTOP');
    // Without a check of its own, TCP would take longer.
    await until(() => members[0]!.bus.health.outages === 1, 15_000);
    await until(() => members.every(({ bus }) => bus.health.isUp));
    expect(members[0]!.told).toEqual([DOWN, 'up']);
    await expectSpanned('replaced');
    used.signal('SIGCONT');
  });

  test('while the whole cluster is down, messages are counted; then everything resumes', async () => {
    await start();
    await Promise.all(cluster.processes.map((redis) => redis.stop()));
    await until(() => members.every(({ bus }) => !bus.health.isUp));
    for (let number = 0; number < 10; number++) members[0]!.io.to('room').emit('lost', number);
    await until(() => numbersOf(pairs[0], 'lost').length === 10);
    await until(() => members[0]!.bus.health.unsent >= 10);
    expect(members[0]!.bus.health.pendingBytes).toBe(0);
    await Promise.all(cluster.processes.map((redis) => redis.start()));
    await until(() => members.every(({ bus }) => bus.health.isUp));
    for (const { received } of pairs) received.length = 0;
    await expectSpanned('resumed');
    for (const { told } of members) expect(told).toEqual([DOWN, 'up']);
  });
});
