import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Backplane } from '../../../../src/cluster/backplanes/backplane.js';
import { redisBackplane } from '../../../../src/cluster/backplanes/redis/classic.js';
import { disconnectAll, type Pair, pairOn } from '../../../io/rooms/support/clients.js';
import { onRedisFrames, startMember, type TestNode } from '../../../io/rooms/support/node.js';
import { atEnd } from '../../../support/ends.js';
import { type RedisCluster, RedisProcess, until } from '../../../support/redis.js';
import { toldBy } from '../support/told.js';

afterEach(disconnectAll);

const single = async () => {
  const redis = await RedisProcess.start();
  return { url: redis.url, processes: [redis], remove: () => redis.remove() };
};

/** Sets the rights of the user `chat` on every Redis. */
async function allow(processes: readonly RedisProcess[], ...rules: string[]): Promise<void> {
  for (const { port } of processes) {
    const redis = new Redis(port, '127.0.0.1');
    await redis.call('ACL', 'SETUSER', 'chat', 'on', '>secret', ...rules);
    redis.disconnect();
  }
}

const asChat = (url: string) => url.replaceAll('redis://', 'redis://chat:secret@');

const ALL = ['reset', 'on', '>secret', '~*', '&*', '+@all'];

type Open = (url: string) => Backplane;

interface Case {
  open: Open;
  start: () => Promise<Pick<RedisCluster, 'url' | 'processes' | 'remove'>>;
  subscribe: string;
  publish: string;
}

test.each<[string, Case]>([
  ['redis', { open: redisBackplane, start: single, subscribe: 'PSUBSCRIBE', publish: 'PUBLISH' }],
  ['redis-frames', { open: onRedisFrames, start: single, subscribe: 'SUBSCRIBE', publish: 'PUBLISH' }],
])('the %s bus reports commands that Redis rejects, once per outage', async (_name, kind) => {
  const redis = await kind.start();
  const members: (TestNode & { bus: Backplane })[] = [];
  const isUp = () => members.every(({ bus }) => bus.health.isUp);
  try {
    await allow(redis.processes, ...ALL, 'resetchannels');
    const rejected = (command: string) => `^Redis rejects the command ${command} \\(NOPERM\\): ${command}: NOPERM `;
    const bus = kind.open(asChat(redis.url));
    const told = toldBy(bus);
    const starting = startMember(bus);
    await until(() => told.length > 0);
    expect(told.splice(0)).toEqual([expect.stringMatching(new RegExp(`${rejected(kind.subscribe)}.*channel`))]);
    expect(bus.health).toMatchObject({ isUp: false, outages: 1 });

    await allow(redis.processes, ...ALL, '-info');
    members.push(await starting);
    members.push(await startMember(kind.open(asChat(redis.url))));
    await until(isUp);
    expect(told.splice(0)).toEqual(['up']);
    await expectSpanned();

    await allow(redis.processes, `-${kind.publish}`);
    const pair = await pairOn(members[0]!);
    const repeat = setInterval(() => members[0]!.io.emit('lost'), 20);
    await until(() => told.length > 0);
    expect(told.splice(0)).toEqual([
      expect.stringMatching(new RegExp(`${rejected(kind.publish)}.*${kind.publish}`, 'i')),
    ]);
    expect(members[0]!.bus.health).toMatchObject({ isUp: false, outages: 2 });
    // Local delivery continues.
    await until(() => pair.received.length > 10);
    expect(told).toEqual([]);

    await allow(redis.processes, `+${kind.publish}`);
    await until(isUp);
    clearInterval(repeat);
    expect(told.splice(0)).toEqual(['up']);
    await expectSpanned();
  } finally {
    disconnectAll();
    for (const member of members) await member.close();
    await redis.remove();
  }

  async function expectSpanned(): Promise<void> {
    const pairs: Pair[] = await Promise.all(members.map((member) => pairOn(member)));
    for (const [index, { io }] of members.entries()) io.emit('from', index);
    await until(() => pairs.every(({ received }) => received.filter(([event]) => event === 'from').length === 2));
  }
});

test('the rights that docs/operations/redis.md lists for frames suffice', async () => {
  const docs = readFileSync(new URL('../../../../docs/operations/redis.md', import.meta.url), 'utf8');
  const [, rights] = /^ {4}ACL SETUSER chat on >secret (.*)$/m.exec(docs)!;
  const redis = await RedisProcess.start();
  const told: string[][] = [];
  const members: (TestNode & { bus: Backplane })[] = [];
  atEnd(async () => {
    disconnectAll();
    for (const member of members) await member.close();
    await redis.remove();
  });
  await allow([redis], 'reset', 'on', '>secret', ...rights!.split(' '));
  for (let count = 0; count < 2; count++) {
    const bus = onRedisFrames(asChat(redis.url));
    told.push(toldBy(bus));
    members.push(await startMember(bus));
  }
  const pair = await pairOn(members[0]!);
  await pair.socket.join('room');
  members[1]!.io.to('room').emit('hello');
  await until(() => pair.received.length > 0);
  await pair.socket.leave('room');
  expect(told).toEqual([['up'], ['up']]);
});
