import { afterEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { connect, connected, disconnectAll, expectOk } from '../support/clients.js';
import { RedisProcess } from '../support/redis.js';
import { startServer } from '../support/server.js';
import { until } from '../support/until.js';

afterEach(disconnectAll);

const node = 'another';
const position = { epoch: 'e', offset: 1 };

/** Events that no chat sends, with their values. */
const garbage: unknown[][] = [
  ...['roster', 'news', 'heads'].flatMap((event) => [[event], [event, null], [event, 5], [event, [null]]]),
  ['roster', {}],
  ['roster', { node, type: 'changes' }],
  ['roster', { node, type: 'changes', sequence: 1, rooms: null }],
  ['roster', { node, type: 'state', sequence: 1, rooms: { a: null } }],
  ['roster', { node, type: 'state', sequence: 1, rooms: { a: [5] } }],
  ['roster', { node, type: 'heartbeat', sequence: 1 }],
  ['roster', { node: null, type: 'bye' }],
  ['news', [{ key: 'room:a', messages: [] }]],
  ['news', [{ key: 'room:a', messages: [null] }]],
  ['news', [{ key: 'x', messages: [{ ...position, from: 'a', text: 'b', at: 1 }] }]],
  ['heads', [{ key: 'room:a', first: null, last: position }]],
];

test.each([
  ['with a history', {}],
  ['without a history', { HISTORY_TTL: '0' }],
])('malformed events between chats are counted and dropped, %s', async (_name, environment) => {
  const redis = await RedisProcess.start();
  const server = await startServer({ WORKERS: '1', REDIS_URL: redis.url, BUS: 'redis', ...environment });
  const other = new Redis(redis.url);
  try {
    const client = connect(server.url);
    await connected(client);
    expectOk(await client.emitWithAck('join', 'hall'));
    await other.publish('socket.io#/#', 'x');
    for (const data of garbage) {
      await other.publish('socket.io-request#/#', JSON.stringify({ uid: 'x', type: 6, data }));
    }
    const stateMessage = ['gjallar:state', { type: 'changes', node: 'x', sequence: 1, clock: 'now' }];
    await other.publish('socket.io-request#/#', JSON.stringify({ uid: 'x', type: 6, data: stateMessage }));
    const count = async (source: string) => {
      const text = await (await fetch(`${server.url}/metrics`)).text();
      const found = new RegExp(`^gjallar_bus_malformed_total\\{.*source="${source}".*\\} (\\d+)$`, 'm').exec(text);
      return Number(found?.[1] ?? 0);
    };
    await until(async () => (await count('application')) === garbage.length);
    expect(await count('bus')).toBe(1);
    await until(async () => (await count('state')) === 1);
    const said = new Promise((resolve) => client.once('message', resolve));
    expectOk(await client.emitWithAck('message', { room: 'hall', text: 'still here' }));
    expect(await said).toMatchObject({ text: 'still here' });
    expect(await client.emitWithAck('who', 'hall')).toMatchObject({ members: 1 });
    const lines = server.log.filter(({ msg }) => msg?.startsWith('malformed messages'));
    expect(lines).toEqual([expect.objectContaining({ level: 'warn', source: 'bus', reason: expect.any(String) })]);
    expect(server.log.filter(({ msg }) => msg?.startsWith('unhandled'))).toEqual([]);
  } finally {
    other.disconnect();
    await server.stop();
    await redis.remove();
  }
});
