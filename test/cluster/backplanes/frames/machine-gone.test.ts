import { afterEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { createPresence } from '../../../../src/features/presence/index.js';
import { disconnectAll, pairOn } from '../../../io/rooms/support/clients.js';
import { Machine, startMember, type TestNode } from '../../../io/rooms/support/node.js';
import { RedisProcess } from '../../../support/redis.js';
import { until } from '../../../support/until.js';
import { Wire } from '../../../support/wire.js';

const ends: (() => unknown)[] = [];

afterEach(async () => {
  disconnectAll();
  for (const end of ends.splice(0).reverse()) await end();
});

/** A machine with a hub of its own, which reaches Redis over this port. */
async function startMachine(id: string, port: number): Promise<Machine> {
  const machine = await Machine.start();
  ends.push(() => machine.remove());
  await machine.startHub(id, { server: 'redis', url: `redis://127.0.0.1:${port}`, prefix: 'socket.io' });
  return machine;
}

async function startOn(machine: Machine) {
  const member = await startMember(await machine.openHubBackplane('redis-frames'));
  ends.push(() => member.close());
  return member;
}

const countsOf = (nodes: TestNode[]) => Promise.all(nodes.map(({ io }) => io.of('/').adapter.serverCount()));

test('nothing waits for a worker or a machine that has ended without a word, and its users are gone', async () => {
  const redis = await RedisProcess.start();
  ends.push(() => redis.remove());
  const wire = await Wire.to(redis.port);
  ends.push(() => wire.close());
  const here = await startMachine('machine0', redis.port);
  const there = await startMachine('machine1', wire.port);
  const one = await startOn(here);
  const others = [await startOn(there), await startOn(there)] as const;
  const presences = [one, ...others].map(({ io }) => {
    const presence = createPresence(io);
    ends.push(() => presence.close());
    return presence;
  });
  const seen = presences[0]!;
  await until(async () => (await countsOf([one, ...others])).every((count) => count === 3));
  for (const [index, other] of others.entries()) {
    const { socket } = await pairOn(other);
    presences[index + 1]!.track(socket, `user${index}`);
    await socket.join('hall');
  }
  const users = () => [...seen.usersOf('hall').users.keys()].sort();
  await until(() => users().length === 2);
  expect(await one.io.fetchSockets()).toHaveLength(2);

  others[0].io.on('question', (reply: (value: string) => void) => reply('first'));
  // A worker that does not answer any more ends, as if it was killed.
  (others[1].io.of('/').adapter as unknown as { receiveMessage(): void }).receiveMessage = () => {};
  const asked = [one.io.fetchSockets(), one.io.serverSideEmitWithAck('question')] as const;
  others[1].bus.close();
  // These would be errors if the time limit of 5 s had ended them.
  expect(await asked[0]).toHaveLength(1);
  expect(await asked[1]).toEqual(['first']);
  expect(await countsOf([one])).toEqual([2]);
  expect(users()).toEqual(['user0']);

  wire.cut();
  const operator = new Redis(redis.url);
  ends.push(() => operator.disconnect());
  const subscribers = async () =>
    String(await operator.client('LIST', 'TYPE', 'PUBSUB'))
      .trim()
      .split('\n').length;
  await until(async () => (await subscribers()) === 1);
  expect(await one.io.fetchSockets()).toEqual([]);
  expect(await one.io.serverSideEmitWithAck('question')).toEqual([]);
  expect(await countsOf([one])).toEqual([1]);
  expect(users()).toEqual([]);
});
