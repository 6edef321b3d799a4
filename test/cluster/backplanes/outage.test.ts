import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { onNats } from '../../../nats/test/support.js';
import type { Backplane } from '../../../src/cluster/backplanes/backplane.js';
import { ConnectionHealth } from '../../../src/cluster/backplanes/connection-health.js';
import { redisBackplane } from '../../../src/cluster/backplanes/redis/classic.js';
import { countSockets } from '../../../src/io/rooms/index.js';
import { disconnectAll, type Pair, pairOn } from '../../io/rooms/support/clients.js';
import { onRedisFrames, startMember, type TestNode } from '../../io/rooms/support/node.js';
import { nextEvent } from '../../support/clients.js';
import { NatsProcess } from '../../support/nats.js';
import { RedisProcess, until } from '../../support/redis.js';
import { whileActing } from '../../support/until.js';
import { Wire } from '../../support/wire.js';
import { toldBy } from './support/told.js';

type Member = TestNode & { bus: Backplane; told: string[] };
type Open = (url: string) => Backplane;
const DOWN = expect.stringMatching(/^(Redis|NATS) is unreachable: ./);

/** What the bus depends on. */
interface Broker {
  readonly url: string;
  readonly process: Pick<RedisProcess, 'start' | 'stop' | 'signal'>;
  remove(): Promise<void>;
}

const single = async () => {
  const redis = await RedisProcess.start();
  return { url: redis.url, process: redis, remove: () => redis.remove() };
};

const singleNats = async () => {
  const nats = await NatsProcess.start();
  return { url: nats.url, process: nats, remove: () => nats.remove() };
};

/** A bus on two workers, whose room `room` has a member on each. */
class Scene {
  private constructor(
    readonly broker: Broker,
    readonly members: [Member, Member],
    readonly pairs: Pair[],
  ) {}

  static async start(open: Open, start: () => Promise<Broker>): Promise<Scene> {
    const broker = await start();
    const members = [await join(broker, open), await join(broker, open)] as [Member, Member];
    const pairs = await Promise.all(members.map((member) => pairOn(member)));
    await Promise.all(pairs.map(({ socket }) => socket.join('room')));
    return new Scene(broker, members, pairs);
  }

  async end(): Promise<void> {
    for (const member of this.members) await member.close();
    await this.broker.remove();
  }

  /** The room spans both workers, in both directions. */
  async expectSpanned(): Promise<void> {
    const { members, pairs } = this;
    for (const [from, to] of [
      [0, 1],
      [1, 0],
    ] as const) {
      const heard = nextEvent(pairs[to]!.client, 'across');
      // What is published before the other one has subscribed again is not held back for it.
      const repeat = setInterval(() => members[from].io.to('room').emit('across'), 50);
      await heard;
      clearInterval(repeat);
    }
  }

  /** What a test begins with, whichever was before: the room spans both workers, and nobody has been told of anything. */
  async begin(): Promise<void> {
    await this.expectSpanned();
    for (const { told } of this.members) told.length = 0;
  }

  /** Each has been told of one outage, which is over. */
  expectToldOnce(): void {
    for (const { told } of this.members) expect(told).toEqual([DOWN, 'up']);
  }

  /** What is local goes on, what is not is counted, and nobody is cut off. */
  async expectLocalWork(): Promise<void> {
    const { members, pairs } = this;
    const unsent = members[0].bus.health.unsent;
    for (let number = 0; number < 10; number++) {
      const heard = nextEvent(pairs[0]!.client, 'local');
      members[0].io.to('room').emit('local', number);
      expect(await heard).toEqual([number]);
    }
    // What asks the others fails, and ends nothing.
    const asked = members[0].io.timeout(100).emitWithAck('nobody answers');
    await expect(asked).rejects.toThrow('timed out');
    // Rooms that come and go meanwhile are joined afterwards.
    await pairs[0]!.socket.join('meanwhile');
    await pairs[0]!.socket.leave('meanwhile');
    await until(() => members[0].bus.health.unsent >= unsent + 10);
    expect(members[0].bus.health.pendingBytes).toBe(0);
    expect(pairs.map(({ client }) => client.connected)).toEqual([true, true]);
  }
}

async function join({ url }: Broker, open: Open): Promise<Member> {
  const bus = open(url);
  const told = toldBy(bus);
  const member = { ...(await startMember(bus)), told };
  expect(told.splice(0)).toEqual(['up']);
  return member;
}

/** The sharded bus, whose masters may have replicas, is in redis/sharded.test.ts. */
const buses: Record<string, [Open, () => Promise<Broker>]> = {
  redis: [redisBackplane, single],
  'redis-frames': [onRedisFrames, single],
  nats: [onNats, singleNats],
};
const names = Object.keys(buses);

describe('a bus while its server is away', () => {
  const scenes: Record<string, Scene> = {};

  beforeAll(async () => {
    await Promise.all(
      names.map(async (name) => {
        scenes[name] = await Scene.start(...buses[name]!);
      }),
    );
  });

  afterAll(async () => {
    disconnectAll();
    await Promise.all(Object.values(scenes).map((scene) => scene.end()));
  });

  // The buses of a block wait at the same time.
  describe('it is told of the end of its server, goes on alone, and resumes', () => {
    test.concurrent.each(names)('%s', async (name) => {
      const scene = scenes[name]!;
      const { broker, members } = scene;
      await scene.begin();
      await broker.process.stop();
      await until(() => members.every(({ bus }) => !bus.health.isUp));
      expect((await countSockets(members[0].io)).isComplete).toBe(false);
      await scene.expectLocalWork();
      for (const { told } of members) expect(told).toEqual([DOWN]);

      await broker.process.start();
      await until(() => members.every(({ bus }) => bus.health.isUp));
      scene.expectToldOnce();
      await scene.expectSpanned();
    });
  });

  describe('it notices a server that hangs, and resumes when it goes on', () => {
    test.concurrent.each(names)('%s', async (name) => {
      const scene = scenes[name]!;
      const { broker, members } = scene;
      await scene.begin();
      broker.process.signal('SIGSTOP');
      // Without a check of its own, TCP would take longer.
      await until(() => members.every(({ bus }) => !bus.health.isUp), 15_000);
      await scene.expectLocalWork();
      broker.process.signal('SIGCONT');
      await until(() => members.every(({ bus }) => bus.health.isUp));
      await scene.expectSpanned();
      scene.expectToldOnce();
    });
  });
});

describe('a bus whose server can be reached badly', () => {
  const wires: Record<string, Wire> = {};
  const scenes: Record<string, Scene> = {};

  beforeAll(async () => {
    await Promise.all(
      names.map(async (name) => {
        const [open, start] = buses[name]!;
        const behind = async () => {
          const { url, process, remove } = await start();
          const server = new URL(url);
          const wire = await Wire.to(Number(server.port));
          wires[name] = wire;
          server.port = String(wire.port);
          return { url: server.href, process, remove };
        };
        scenes[name] = await Scene.start(open, behind);
      }),
    );
  });

  afterAll(async () => {
    disconnectAll();
    await Promise.all(Object.values(scenes).map((scene) => scene.end()));
    for (const wire of Object.values(wires)) wire.close();
  });

  describe('where each answer is 1.5 s late, everything arrives, once and in order', () => {
    test.concurrent.each(names)('%s', async (name) => {
      const scene = scenes[name]!;
      const { members, pairs } = scene;
      await scene.begin();
      wires[name]!.answersLateBy = 1500;
      const heard: number[] = [];
      pairs[1]!.client.on('late', (number: number) => heard.push(number));
      let sent = 0;
      // Long enough for a check of its own to take it for down.
      const several = until(() => heard.length >= 60);
      await whileActing(100, () => members[0].io.to('room').emit('late', sent++), several);
      await until(() => heard.length === sent);
      expect(heard).toEqual([...heard.keys()]);
      for (const { told } of members) expect(told).toEqual([]);
      wires[name]!.answersLateBy = 0;
    });
  });

  describe('where no answer arrives any more, it notices, goes on alone, and resumes', () => {
    test.concurrent.each(names)('%s', async (name) => {
      const scene = scenes[name]!;
      const { members } = scene;
      await scene.begin();
      wires[name]!.losesAnswers = true;
      await until(() => members.every(({ bus }) => !bus.health.isUp), 15_000);
      await scene.expectLocalWork();
      wires[name]!.losesAnswers = false;
      await until(() => members.every(({ bus }) => bus.health.isUp));
      await scene.expectSpanned();
      scene.expectToldOnce();
    });
  });
});

describe('what is on its way to Redis', () => {
  afterEach(() => disconnectAll());

  test('is bounded: what comes on top is given up and counted', async () => {
    const outage = new ConnectionHealth('Redis', 1000);
    let arrive: (value: number) => void = () => {};
    const stuck = () => new Promise<number>((resolve) => (arrive = resolve));
    const first = outage.send(1000, stuck);
    await expect(outage.send(1, stuck)).rejects.toThrow('too many bytes are waiting for Redis');
    await until(() => outage.unsent === 1);
    expect(outage.pendingBytes).toBe(1000);
    arrive(1);
    await first;
    await expect(outage.send(1, async () => 2)).resolves.toBe(2);
  });
});
