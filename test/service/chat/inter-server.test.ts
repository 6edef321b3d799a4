import { afterEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { connect, connected, disconnectAll, expectOk } from '../../support/clients.js';
import { atEnd } from '../../support/ends.js';
import { sumOf } from '../../support/metrics.js';
import { RedisProcess } from '../../support/redis.js';
import { startServer } from '../../support/server.js';
import { until } from '../../support/until.js';

afterEach(disconnectAll);

const position = { offset: 1, tag: 1 };
const said = { ...position, from: 'a', text: 'b', at: 1 };

const events = ['gjallar:presence', 'gjallar:messages'] as const;
const from = (message: unknown) => ({ from: 'another', number: 1, message });

/** Events that no chat sends, with their values. */
const garbage: unknown[][] = [
  ...events.flatMap((event) => [[event], [event, null], [event, 5], [event, [null]], [event, { from: 'another' }]]),
  ...events.flatMap((event) => [
    [event, {}],
    [event, from(5)],
    [event, { ...from({}), from: null }],
  ]),
  ['gjallar:presence', from({ type: 'changes' })],
  ['gjallar:presence', from({ type: 'changes', rooms: null })],
  ['gjallar:presence', from({ type: 'state', rooms: { a: null } })],
  ['gjallar:presence', from({ type: 'state', rooms: { a: [5] } })],
  ['gjallar:presence', from({ type: 'heartbeat', rooms: {} })],
  ['gjallar:messages', from({ messages: [{ key: 'room:a', messages: [] }] })],
  ['gjallar:messages', from({ messages: [{ key: 'room:a', messages: [null] }] })],
  ['gjallar:messages', from({ messages: [{ key: 'x', messages: [said] }] })],
  ['gjallar:messages', from({ positions: [{ key: 'direct:a', first: null, last: position }] })],
];

test.each([
  ['with a history', {}, garbage],
  // Without one, nothing listens to messages.
  ['without a history', { HISTORY_TTL: '0' }, garbage.filter(([event]) => event === 'gjallar:presence')],
])('malformed events between chats are counted and dropped, %s', async (_name, environment, garbage) => {
  const redis = await RedisProcess.start();
  const server = await startServer({ WORKERS: '1', REDIS_URL: redis.url, BUS: 'redis', ...environment });
  const other = new Redis(redis.url);
  atEnd(
    () => other.disconnect(),
    () => server.stop(),
    () => redis.remove(),
  );
  const client = connect(server.url);
  await connected(client);
  expectOk(await client.emitWithAck('join', 'hall'));
  await other.publish('socket.io#/#', 'x');
  for (const data of garbage) {
    await other.publish('socket.io-request#/#', JSON.stringify({ uid: 'x', type: 6, data }));
  }
  const count = (source: string) =>
    sumOf([server.url], 'gjallar_bus_malformed_total', { labels: `source="${source}"` });
  await until(async () => (await count('application')) === garbage.length);
  expect(await count('bus')).toBe(1);
  const said = new Promise((resolve) => client.once('message', resolve));
  expectOk(await client.emitWithAck('message', { room: 'hall', text: 'still here' }));
  expect(await said).toMatchObject({ text: 'still here' });
  expect(await client.emitWithAck('who', 'hall')).toMatchObject({ members: 1 });
  const lines = server.log.filter(({ msg }) => msg?.startsWith('malformed messages'));
  expect(lines).toEqual([expect.objectContaining({ level: 'warn', source: 'bus', reason: expect.any(String) })]);
  expect(server.log.filter(({ msg }) => msg?.startsWith('unhandled'))).toEqual([]);
});
