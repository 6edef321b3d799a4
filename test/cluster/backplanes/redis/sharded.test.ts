import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createShardedAdapter } from '@socket.io/redis-adapter';
import { Cluster, Redis } from 'ioredis';
import type { Backplane } from '../../../../src/cluster/backplanes/backplane.js';
import { redisBackplane } from '../../../../src/cluster/backplanes/redis/classic.js';
import type { AdapterFactory } from '../../../../src/io/rooms/native-rooms.js';
import { recoveryContract } from '../../../features/recovery/recovery.contract.js';
import { joinRedis } from '../../../features/recovery/support/recovering.js';
import { disconnectAll, type Pair, pairOn } from '../../../io/rooms/support/clients.js';
import { machinesOn, onShardedFrames, startMember, startNode, type TestNode } from '../../../io/rooms/support/node.js';
import { RedisCluster, type RedisProcess, until } from '../../../support/redis.js';
import { busContract } from '../bus.contract.js';
import { onShardedHubs } from '../support/garbage.js';

/** Frames on the sharded pub/sub of a Redis Cluster, and other servers on it. */

let cluster: RedisCluster;

beforeAll(async () => {
  cluster = await RedisCluster.start({ replicas: true });
});
afterAll(() => cluster.remove());

busContract('redis-frames-sharded', async () => {
  const { url } = cluster;
  const address = { server: 'redis-cluster', url, prefix: 'socket.io' } as const;
  return { ...(await machinesOn('redis-frames-sharded', address)), sendGarbage: () => onShardedHubs(url) };
});

recoveryContract('redis-frames-sharded', 2, async () => ({
  openBackplane: async () => joinRedis(cluster.url, {}, 'redis-frames'),
  remove: async () => {},
}));

describe('frames on a cluster whose slots move and whose masters fail', () => {
  type Told = ['down', string] | ['up', number];
  type Member = TestNode & { bus: Backplane; told: Told[] };

  const DOWN = ['down', expect.any(String)];
  const UP = ['up', expect.any(Number)];

  let members: Member[] = [];
  let pairs: [Pair, Pair];

  // One that hung has become a replica.
  beforeEach(async () => {
    for (const redis of cluster.processes.slice(0, 3)) {
      const isMaster = () =>
        onNode(redis, async (node) => String(await node.info('replication')).includes('role:master'));
      if (await isMaster()) continue;
      await onNode(redis, (node) => node.call('CLUSTER', 'FAILOVER'));
      await until(isMaster);
    }
  });

  afterEach(async () => {
    disconnectAll();
    for (const member of members) await member.close();
    members = [];
  });

  /** Two machines with a worker each, and a client of each in a room. */
  async function start(url = cluster.url, machines = ['machine0', 'machine1']): Promise<void> {
    for (const machine of machines) {
      const told: Told[] = [];
      const events = {
        onDown: (reason: string) => void told.push(['down', reason]),
        onUp: (unsent: number) => void told.push(['up', unsent]),
      };
      members.push({ ...(await startMember(onShardedFrames(url, events, 'socket.io', machine))), told });
      expect(told.splice(0)).toEqual([['up', 0]]);
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

  /** Moves the slot of a channel from one master to another, as `redis-cli --cluster reshard` does. */
  async function moveSlot(channel: string, source: RedisProcess, target: RedisProcess): Promise<void> {
    await onNode(source, (from) =>
      onNode(target, async (to) => {
        const slot = (await from.call('CLUSTER', 'KEYSLOT', channel)) as number;
        const [sourceId, targetId] = (await Promise.all([from, to].map((redis) => redis.call('CLUSTER', 'MYID')))) as [
          string,
          string,
        ];
        await to.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', sourceId);
        await from.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', targetId);
        await to.call('CLUSTER', 'SETSLOT', slot, 'NODE', targetId);
        await from.call('CLUSTER', 'SETSLOT', slot, 'NODE', targetId);
      }),
    );
  }

  /** The master of the slot of a channel, as a node knows it. */
  const masterOf = (channel: string, asked: RedisProcess) =>
    onNode(asked, async (node) => {
      const slot = (await node.call('CLUSTER', 'KEYSLOT', channel)) as number;
      const ranges = (await node.call('CLUSTER', 'SLOTS')) as [number, number, [host: string, port: number]][];
      const [, , [, port]] = ranges.find(([from, to]) => from <= slot && slot <= to)!;
      return cluster.processes.find((redis) => redis.port === port)!;
    });

  /** Begins with the slot of a channel on a master, wherever it was. All nodes know it then. */
  async function place(channel: string, target: RedisProcess): Promise<void> {
    const source = await masterOf(channel, target);
    if (source !== target) await moveSlot(channel, source, target);
    for (const redis of cluster.processes) await until(async () => (await masterOf(channel, redis)) === target);
  }

  const channelsOn = (redis: RedisProcess) =>
    onNode(redis, async (node) => ((await node.call('PUBSUB', 'SHARDCHANNELS')) as string[]).sort());

  test('each machine has its channel on the master of its slot, and follows a slot that moves', async () => {
    const [first, second, third] = cluster.processes as [RedisProcess, RedisProcess, RedisProcess];
    await place('socket.io:frames:hubs', first);
    await place('socket.io:frames:hubs:machine1', first);
    await start();
    expect(await Promise.all([first, second, third].map(channelsOn))).toEqual([
      ['socket.io:frames:hubs', 'socket.io:frames:hubs:machine1'],
      ['socket.io:frames:hubs:machine0'],
      ['socket.io#/#', 'socket.io:frames'],
    ]);
    await expectSpanned('before');

    // The other machine learns from the answer to its next message that the slot has moved.
    let number = 0;
    const repeat = setInterval(() => members[0]!.io.to('room').emit('meanwhile', number++), 1);
    await until(() => numbersOf(pairs[1], 'meanwhile').length > 20);
    await moveSlot('socket.io:frames:hubs:machine1', first, second);
    await until(() => members.every(({ bus }) => bus.traffic.outages === 1 && bus.traffic.isUp));
    const after = number;
    await until(() => numbersOf(pairs[1], 'meanwhile').at(-1)! > after + 20);
    clearInterval(repeat);
    expect(await channelsOn(second)).toEqual(['socket.io:frames:hubs:machine0', 'socket.io:frames:hubs:machine1']);
    const heard = numbersOf(pairs[1], 'meanwhile');
    expect(heard).toEqual([...new Set(heard)].sort((a, b) => a - b));
    const last = heard.at(-1)!;
    expect(heard.filter((one) => one >= after)).toHaveLength(last - after + 1);
    for (const { told } of members) {
      expect(told).toEqual([['down', 'a slot has moved to another master of the cluster'], UP]);
    }
    for (const { received } of pairs) received.length = 0;
    await expectSpanned('after');

    // The channel on which the hubs find each other.
    await moveSlot('socket.io:frames:hubs', first, third);
    await until(() => members.every(({ bus }) => bus.traffic.outages === 2 && bus.traffic.isUp));
    await expectSpanned('afterwards');

    // A slot that has come back by the time the workers ask for its master.
    await onNode(second, async (node) => {
      const slot = (await node.call('CLUSTER', 'KEYSLOT', 'socket.io:frames:hubs:machine0')) as number;
      const ids = await Promise.all(
        [first, second].map((redis) => onNode(redis, (one) => one.call('CLUSTER', 'MYID'))),
      );
      const pipeline = node.pipeline();
      for (const id of ids) pipeline.call('CLUSTER', 'SETSLOT', slot, 'NODE', id as string);
      await pipeline.exec();
    });
    await until(() => members[0]!.bus.traffic.outages === 3 && members[0]!.bus.traffic.isUp);
    await expectSpanned('once more');
  });

  test('a user with the rights that docs/operations/redis.md lists for frames on a cluster can use it', async () => {
    const docs = readFileSync(new URL('../../../../docs/operations/redis.md', import.meta.url), 'utf8');
    const [, rights] = /^ {4}ACL SETUSER chat on >secret (.*\+ssubscribe.*)$/m.exec(docs)!;
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
      await onNode(redis, (node) => node.call('ACL', 'SETUSER', 'chat', '-spublish'));
    members[0]!.io.to('room').emit('rejected');
    await until(() => members[0]!.told.length > 0);
    expect(members[0]!.told).toEqual([['down', expect.stringMatching(/^SPUBLISH: NOPERM/)]]);
    for (const redis of cluster.processes)
      await onNode(redis, (node) => node.call('ACL', 'SETUSER', 'chat', '+spublish'));
    await until(() => members.every(({ bus }) => bus.traffic.isUp));
    await expectSpanned('allowed again');
  });

  test('servers with frames, servers with the sharded adapter and classic ones notice each other', async () => {
    const noted: [on: string, bus: string, isThere: boolean][] = [];
    const events = (on: string) => ({
      onDown: () => {},
      onUp: () => {},
      onOtherWire: (bus: string, isThere: boolean) => void noted.push([on, bus, isThere]),
    });
    const nodes = cluster.processes.map(({ url }) => url);
    const connections = [new Cluster(nodes), new Cluster(nodes, { shardedSubscribers: true })] as const;
    await until(() => connections[1].ssubscribe('any').then(Boolean, () => false));
    const adapter = await startNode(createShardedAdapter(...connections) as AdapterFactory);
    const frames = await startMember(onShardedFrames(cluster.url, events('frames')));
    const classic = await startMember(redisBackplane(cluster.processes[0]!.url, events('classic')));
    try {
      adapter.io.emit('to all');
      await until(() => noted.length > 0);
      expect(noted.splice(0)).toEqual([['frames', 'redis-sharded', true]]);
      classic.io.emit('to all');
      await until(() => noted.length > 0);
      expect(noted).toEqual([['frames', 'redis', true]]);
    } finally {
      await Promise.all([frames.close(), adapter.close(), classic.close()]);
      for (const connection of connections) connection.disconnect();
    }
  });

  test('a master that hangs is noticed, and its replica takes over', async () => {
    const [first, , third] = cluster.processes as [RedisProcess, RedisProcess, RedisProcess];
    await place('socket.io:frames:hubs', third);
    await start(cluster.url, ['machine0', 'machine5']);
    // Only the second of them has subscribed there, and the first one publishes.
    expect(await channelsOn(first)).toEqual(['socket.io:frames:hubs:machine5']);
    first.signal('SIGSTOP');
    // Without a check of its own, TCP would take longer.
    await until(() => members.every(({ bus }) => bus.traffic.outages === 1), 15_000);
    await until(() => members.every(({ bus }) => bus.traffic.isUp));
    for (const { told } of members) expect(told).toEqual([DOWN, UP]);
    await expectSpanned('replaced');
    first.signal('SIGCONT');
    await until(() => onNode(first, async (node) => String(await node.info('replication')).includes('role:slave')));
  });

  test('while the whole cluster is down, messages are counted; then everything resumes', async () => {
    await start();
    await Promise.all(cluster.processes.map((redis) => redis.stop()));
    await until(() => members.every(({ bus }) => !bus.traffic.isUp));
    for (let number = 0; number < 10; number++) members[0]!.io.to('room').emit('lost', number);
    await until(() => numbersOf(pairs[0], 'lost').length === 10);
    await until(() => members[0]!.bus.traffic.unsent >= 10);
    expect(members[0]!.bus.traffic.pendingBytes).toBe(0);
    await Promise.all(cluster.processes.map((redis) => redis.start()));
    await until(() => members.every(({ bus }) => bus.traffic.isUp));
    for (const { received } of pairs) received.length = 0;
    await expectSpanned('resumed');
    for (const { told } of members) expect(told).toEqual([DOWN, UP]);
  });
});
