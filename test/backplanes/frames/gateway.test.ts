import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Backplane } from '../../../src/backplanes/backplane.js';
import { ownWindow } from '../../../src/backplanes/frames/links.js';
import { subjectOf } from '../../../src/backplanes/nats/address.js';
import { natsBackplane } from '../../../src/backplanes/nats/pub-sub.js';
import { redisFramesBackplane } from '../../../src/backplanes/redis/frames.js';
import { disconnectAll, type Pair, pairOn, receivedBy } from '../../rooms/support/clients.js';
import { Machine, startMember, type TestNode } from '../../rooms/support/node.js';
import { startWorkerProcess } from '../../rooms/support/worker-process.js';
import { NatsProcess } from '../../support/nats.js';
import { freePort } from '../../support/ports.js';
import { RedisProcess, until } from '../../support/redis.js';

type Member = TestNode & { bus: Backplane };

/** Messages that a worker must get from each sender before and after something happens. */
const ENOUGH = 50;

/** What machines exchange frames through. */
interface Broker {
  readonly url: string;
  readonly open: typeof redisFramesBackplane;
  /** How many subscriptions a channel has, by the count of the server. */
  subscriptionsOf(channel: string): Promise<number>;
  /** Ends the connection of the worker that has been connected for longest, where the server can do that. */
  cutOldest?: () => Promise<void>;
  remove(): Promise<void>;
}

async function onRedis(): Promise<Broker> {
  const redis = await RedisProcess.start();
  const asker = new Redis(redis.url);
  return {
    url: redis.url,
    open: redisFramesBackplane,
    subscriptionsOf: async (channel) => Number((await asker.pubsub('NUMSUB', channel))[1]),
    cutOldest: async () => {
      const clients = String(await asker.client('LIST', 'TYPE', 'PUBSUB'));
      const ids = [...clients.matchAll(/^id=(\d+)/gm)].map(([, id]) => Number(id));
      await asker.client('KILL', 'ID', `${Math.min(...ids)}`);
    },
    remove: async () => {
      asker.disconnect();
      await redis.remove();
    },
  };
}

async function onNats(): Promise<Broker> {
  const port = await freePort();
  const nats = await NatsProcess.start(`http: "127.0.0.1:${port}"`);
  return {
    url: nats.url,
    open: natsBackplane,
    subscriptionsOf: async (channel) => {
      const response = await fetch(`http://127.0.0.1:${port}/subsz?subs=1&limit=1000`);
      const { subscriptions_list: list } = (await response.json()) as { subscriptions_list: { subject: string }[] };
      return list.filter(({ subject }) => subject === subjectOf(channel)).length;
    },
    remove: () => nats.remove(),
  };
}

describe.each([
  ['redis-frames', onRedis],
  ['nats', onNats],
])('the workers of a machine that share its channel on %s', (bus, start) => {
  let broker: Broker;
  const machines: Machine[] = [];
  /** What the workers in this process report: `worker.machine`, and what has happened. */
  const told: string[] = [];
  let first: ChildProcess;
  /** The workers of the first machine after the one in a process of its own, and those of the second machine. */
  let receivers: Member[];
  let senders: Member[];
  let pairs: Pair[];
  let isTalking = false;
  /** How many messages each sender has sent. */
  let said: number[];

  beforeAll(async () => {
    broker = await start();
    machines.push(await Machine.start(), await Machine.start());
    const script = new URL('../support/frames-worker.mjs', import.meta.url);
    first = await startWorkerProcess(machines[0]!, script, broker.url, 'machine0');
    const buses: Backplane[] = [];
    for (const index of [0, 0, 0, 1, 1, 1]) buses.push(await openBus(index));
    const members = await Promise.all(buses.map((bus) => startMember(bus)));
    receivers = members.slice(0, 3);
    senders = members.slice(3);
    said = senders.map(() => 0);
    pairs = await Promise.all(receivers.map((member) => pairOn(member)));
    const timer = setInterval(() => {
      if (!isTalking) return;
      for (const [index, { io }] of senders.entries()) io.emit('said', index, said[index]!++);
    }, 5);
    timer.unref();
  });

  afterAll(async () => {
    disconnectAll();
    first.kill('SIGKILL');
    for (const member of [...receivers, ...senders]) await member.close();
    for (const machine of machines) await machine.remove();
    await broker.remove();
  });

  function openBus(index: number): Promise<Backplane> {
    return machines[index]!.openBackplane((links) => {
      const machine = `machine${index}`;
      const events = {
        onDown: (reason: string) => told.push(`${links.id}.${machine} down: ${reason}`),
        onUp: () => told.push(`${links.id}.${machine} up`),
      };
      const window = ownWindow();
      return broker.open({ links, machine, window, url: broker.url, prefix: 'socket.io', events });
    });
  }

  const subscriptions = () =>
    Promise.all(machines.map((_, index) => broker.subscriptionsOf(`socket.io:frames:machine${index}`)));

  const untilSubscribed = (...counts: number[]) =>
    until(async () => JSON.stringify(await subscriptions()) === JSON.stringify(counts));

  /** Every worker gets some more messages of each sender. */
  async function untilHeard(): Promise<void> {
    const before = [...said];
    await until(() =>
      pairs.every(({ received }) =>
        before.every((number, sender) =>
          received.some(([, from, n]) => from === sender && Number(n) > number + ENOUGH),
        ),
      ),
    );
  }

  /** Does something while the senders send, and expects every worker to get all of it once and in order. */
  async function nothingLostWhile(action: () => Promise<void>): Promise<void> {
    for (const { received } of pairs) received.length = 0;
    const from = [...said];
    isTalking = true;
    await untilHeard();
    await action();
    await untilHeard();
    isTalking = false;
    for (const received of await receivedBy(pairs, senders)) {
      for (const [sender, start] of from.entries()) {
        const numbers = received
          .filter(([event, by]) => event === 'said' && by === sender)
          .map(([, , number]) => number);
        expect(numbers).toEqual(Array.from({ length: said[sender]! - start }, (_, index) => start + index));
      }
    }
  }

  test('two of them stay subscribed, and nothing is lost while the others stop', async () => {
    await nothingLostWhile(() => untilSubscribed(2, 2));
  });

  if (bus === 'redis-frames') {
    test('the deputy hands on what a gateway that is stuck does not, and nothing comes twice when it goes on', async () => {
      await nothingLostWhile(async () => {
        first.kill('SIGSTOP');
        await untilHeard();
        first.kill('SIGCONT');
      });
      expect(await subscriptions()).toEqual([2, 2]);
    });
  }

  test('the deputy takes over from a gateway that is killed, and has a deputy of its own', async () => {
    await nothingLostWhile(async () => {
      first.kill('SIGKILL');
      await once(first, 'exit');
      await untilSubscribed(2, 2);
    });
  });

  if (bus === 'redis-frames') {
    test.each([
      ['a gateway that loses its connection gets frames from its deputy', 0],
      ['a deputy that loses its connection gets frames from its gateway', 1],
    ])('%s', async (_what, index) => {
      const { traffic } = receivers[index]!.bus;
      const { outages } = traffic;
      await nothingLostWhile(async () => {
        await broker.cutOldest!();
        await until(() => traffic.outages > outages && traffic.isUp);
        await untilSubscribed(2, 2);
      });
    });
  }

  test('a gateway that will end hands its task over first', async () => {
    const [gateway] = receivers.splice(0, 1);
    pairs.splice(0, 1);
    await nothingLostWhile(async () => {
      gateway!.bus.retire!();
      await gateway!.close();
    });
    expect(await subscriptions()).toEqual([2, 2]);
  });

  test('a worker whose gateway and deputy end at the same moment subscribes again, and reports it', async () => {
    told.length = 0;
    const [gateway, deputy] = senders.splice(0, 2);
    for (const member of [gateway, deputy]) member!.bus.close();
    await Promise.all([gateway!.close(), deputy!.close()]);
    await untilSubscribed(2, 1);
    const reason = 'no worker of this machine hands on the frames of other machines';
    const toldByThird = () => told.filter((text) => text.startsWith('3.machine1'));
    await until(() => toldByThird().length === 2);
    expect(toldByThird()).toEqual([`3.machine1 down: ${reason}`, '3.machine1 up']);
    const [, pair] = [await pairOn(receivers[0]!), await pairOn(senders[0]!)];
    receivers[0]!.io.emit('hello');
    await until(() => pair.received.length === 1);
  });
});
