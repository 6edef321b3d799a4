import { afterEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { redisBackplane } from '../../../../src/cluster/backplanes/redis/classic.js';
import { redisNamesOf } from '../../../../src/host/config/redis-names.js';
import { disconnectAll, pairOn, receivedBy } from '../../../io/rooms/support/clients.js';
import { onRedisFrames, startMember } from '../../../io/rooms/support/node.js';
import { connect, disconnectAll as disconnectClients, expectOk, upgraded } from '../../../support/clients.js';
import { atEnd } from '../../../support/ends.js';
import { RedisProcess, until } from '../../../support/redis.js';
import { startServer } from '../../../support/server.js';
import { shared } from '../../../support/shared.js';

const redis = shared(
  () => RedisProcess.start(),
  (started) => started.remove(),
);
afterEach(() => {
  disconnectAll();
  disconnectClients();
});

test.each([
  [undefined, undefined, 'socket.io', 'gjallar:'],
  ['redis://h', undefined, 'socket.io', 'gjallar:'],
  ['redis://h/0', undefined, 'socket.io', 'gjallar:'],
  ['redis://user:p@h:1/2', undefined, 'socket.io-2', 'gjallar:'],
  ['rediss://h?db=3', undefined, 'socket.io-3', 'gjallar:'],
  ['redis-sentinel://h:1,i:2/chat?db=3', undefined, 'socket.io-3', 'gjallar:'],
  ['redis://h/2', 'staging', 'staging', 'staging:'],
  ['redis://h/2', 'socket.io', 'socket.io', 'gjallar:'],
  ['redis://a/1,redis://b/1', undefined, 'socket.io', 'gjallar:'],
])(
  'REDIS_URL=%s with REDIS_PREFIX=%s uses the channels %s and the keys %s',
  (redisUrl, redisPrefix, channels, keys) => {
    expect(redisNamesOf({ redisUrl, redisPrefix })).toEqual({ channels, keys });
  },
);

test.each([
  ['redis', redisBackplane],
  ['redis-frames', onRedisFrames],
])('on the %s bus, servers hear those with the same prefix only', async (_name, open) => {
  const members = await Promise.all(['one', 'two', 'one'].map((prefix) => startMember(open(redis.url, prefix))));
  const [first, second, third] = members as [(typeof members)[0], (typeof members)[0], (typeof members)[0]];
  atEnd(async () => {
    for (const member of members) await member.close();
  });
  for (const { io } of [first, third]) await until(async () => (await io.of('/').adapter.serverCount()) === 2);
  const pairs = await Promise.all(members.map((member) => pairOn(member)));
  first.io.emit('from the first');
  second.io.emit('from the second');
  expect(await receivedBy([pairs[0]!, pairs[2]!], [first, third])).toEqual([
    [['from the first']],
    [['from the first']],
  ]);
  expect(await receivedBy([pairs[1]!], [second])).toEqual([[['from the second']]]);
  expect(members.map(({ bus }) => bus.health.malformed)).toEqual([0, 0, 0]);
});

test('a server on a database of its own has channels of its own, and REDIS_PREFIX names keys too', async () => {
  const observer = new Redis(`${redis.url}/1`);
  const servers = await Promise.all([
    startServer({ WORKERS: '1', REDIS_URL: `${redis.url}/1` }),
    startServer({ WORKERS: '1', REDIS_URL: `${redis.url}/1`, REDIS_PREFIX: 'staging' }),
  ]);
  atEnd(
    () => observer.disconnect(),
    () => Promise.all(servers.map((server) => server.stop())),
  );
  for (const { url } of servers) {
    const client = connect(url);
    await upgraded(client);
    expectOk(await client.emitWithAck('join', 'hall'));
    expectOk(await client.emitWithAck('message', { room: 'hall', text: 'hello' }));
  }
  const begins = (names: string[]) =>
    new Set(names.map((name) => /^[^#:]*?(?=-request|-response|-relay|[#:])/.exec(name)?.[0]));
  expect(begins((await observer.pubsub('CHANNELS')) as string[])).toEqual(new Set(['socket.io-1', 'staging']));
  expect(begins(await observer.keys('*'))).toEqual(new Set(['gjallar', 'staging']));
});
