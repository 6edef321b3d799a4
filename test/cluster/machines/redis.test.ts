import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { type ChatClient, connect, connected, disconnectAll, expectOk, upgraded } from '../../support/clients.js';
import { atEnd } from '../../support/ends.js';
import { DURABLE, RedisProcess } from '../../support/redis.js';
import { readinessOf } from '../../support/reports.js';
import { type LogLine, type RunningServer, startServer } from '../../support/server.js';
import { expectOnceAndInOrder } from '../../support/talk.js';
import { eventually } from '../../support/until.js';

afterEach(disconnectAll);
afterAll(disconnectAll);

async function joinAll(clients: ChatClient[], room: string): Promise<void> {
  for (const client of clients) expectOk(await client.emitWithAck('join', room));
}

async function readiness(server: RunningServer): Promise<{ status: number; state: string; problems: number }> {
  const response = await fetch(`${server.url}/readyz`);
  const { state, problems } = readinessOf(await response.json());
  return { status: response.status, state, problems: problems.length };
}

/** Each problem is found on a connection of its own, one after the other. */
function untilReadinessIs(server: RunningServer, expected: Awaited<ReturnType<typeof readiness>>): Promise<void> {
  return eventually(async () => expect(await readiness(server)).toEqual(expected));
}

/** Resolves when the server says, after its first `seen` lines, that the bus is up or down. */
function busIs(server: RunningServer, isUp: boolean, seen = 0): Promise<LogLine> {
  return server.logged(
    (line) =>
      /^redis(-frames)?$/.test(String(line.bus)) &&
      (line.level === 'info') === isUp &&
      server.log.indexOf(line) >= seen,
  );
}

/** What a test begins with that has a Redis, whichever was before. */
async function withRedis(redis: RedisProcess, servers: RunningServer[]): Promise<void> {
  if (!redis.child) await redis.start();
  for (const server of servers) await untilReadinessIs(server, { status: 200, state: 'ready', problems: 0 });
}

/** The servers have started without their Redis, whichever test was before. Resolves with where their logs began. */
async function withoutRedis(redis: RedisProcess, servers: RunningServer[]): Promise<number[]> {
  if (!redis.child) return servers.map(() => 0);
  for (const server of servers) {
    const closed = once(server.process, 'close');
    server.process.kill('SIGTERM');
    await closed;
  }
  await redis.stop();
  const lengths = servers.map(({ log }) => log.length);
  await Promise.all(servers.map((server) => server.restart()));
  return lengths;
}

describe('two servers that keep no history', () => {
  let redis: RedisProcess;
  let servers: RunningServer[];

  beforeAll(async () => {
    redis = await RedisProcess.start();
    await redis.stop();
    // One worker each: who is on the same server is on the same worker.
    servers = await Promise.all(
      [1, 2].map(() => startServer({ WORKERS: '1', BUS: 'redis-frames', REDIS_URL: redis.url, HISTORY_TTL: '0' })),
    );
  });

  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    await redis.remove();
  });

  test('start without their Redis and join it when it comes', async () => {
    const from = await withoutRedis(redis, servers);
    for (const server of servers) await untilReadinessIs(server, { status: 200, state: 'degraded', problems: 1 });
    const clients = servers.map(({ url }) => connect(url));
    await Promise.all(clients.map(connected));
    await joinAll(clients, 'early');
    const up = servers.map((server, index) => busIs(server, true, from[index]));
    await redis.start();
    await Promise.all(up);
    await expectOnceAndInOrder(clients, 'early', 3);
  });
});

describe('a server that keeps history', () => {
  let redis: RedisProcess;
  let server: RunningServer;

  beforeAll(async () => {
    redis = await RedisProcess.start(...DURABLE);
    await redis.stop();
    server = await startServer({ WORKERS: '1', REDIS_URL: redis.url });
  });

  afterAll(async () => {
    await server.stop();
    await redis.remove();
  });

  test('starts without its Redis, says so, and is ready when it comes', async () => {
    const [from] = await withoutRedis(redis, [server]);
    const told = await server.logged(
      ({ msg }) => msg?.startsWith('Redis is unreachable: messages cannot be stored') ?? false,
      from,
    );
    expect(told).toMatchObject({
      level: 'error',
      error: { cause: { message: expect.stringContaining('ECONNREFUSED') } },
    });
    await untilReadinessIs(server, { status: 503, state: 'not ready', problems: 2 });
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    const client = connect(server.url);
    await upgraded(client);
    expect(await client.emitWithAck('join', 'early')).toMatchObject({ ok: false, code: 'HISTORY_UNAVAILABLE' });
    const [up, kept] = [
      busIs(server, true, from),
      server.logged(({ msg }) => msg?.startsWith('over: Redis is unreachable') ?? false, from),
    ];
    await redis.start();
    await Promise.all([up, kept]);
    await untilReadinessIs(server, { status: 200, state: 'ready', problems: 0 });
    await joinAll([client], 'early');
    expectOk(await client.emitWithAck('message', { room: 'early', text: 'at last' }));
  });

  test.each([
    [
      'that is full',
      ['config', 'set', 'maxmemory', '1'],
      ['config', 'set', 'maxmemory', '0'],
      'OOM',
      'HISTORY_REFUSED',
    ],
    [
      'that became a replica',
      ['replicaof', '127.0.0.1', '1'],
      ['replicaof', 'no', 'one'],
      'READONLY',
      'HISTORY_UNAVAILABLE',
    ],
  ] as const)(
    'names a Redis %s in the log, in /readyz and in the metrics, until it stores messages again',
    async (_, spoil, repair, words, code) => {
      await withRedis(redis, [server]);
      const admin = new Redis(redis.url);
      const problem = 'Redis rejects writes: messages cannot be stored';
      const from = server.log.length;
      const isNew = (line: LogLine) => server.log.indexOf(line) >= from;
      atEnd(() => admin.disconnect());
      const client = connect(server.url);
      await upgraded(client);
      await joinAll([client], words);
      await admin.call(spoil[0], ...spoil.slice(1));
      for (let n = 0; n < 5; n++) {
        expect(await client.emitWithAck('message', { room: words, text: 'x' })).toMatchObject({ code });
      }
      const line = await server.logged((one) => one.msg === problem && isNew(one));
      expect(line).toMatchObject({ level: 'error', error: { cause: { message: expect.stringContaining(words) } } });
      await eventually(async () => {
        expect(readinessOf(await (await fetch(`${server.url}/readyz`)).json())).toMatchObject({
          state: 'degraded',
          problems: expect.arrayContaining([problem]),
        });
        const metrics = await (await fetch(`${server.url}/metrics`)).text();
        expect(metrics).toContain(`gjallar_problem{code="REDIS_WRITES_REJECTED",text="${problem}"} 1\n`);
      });
      await admin.call(repair[0], ...repair.slice(1));
      // No client posts anything: the server finds out by itself.
      await server.logged((one) => one.msg === `over: ${problem}` && isNew(one));
      expect(server.log.filter((one) => one.msg === problem && isNew(one))).toHaveLength(1);
      await untilReadinessIs(server, { status: 200, state: 'ready', problems: 0 });
      expectOk(await client.emitWithAck('message', { room: words, text: 'again' }));
    },
  );
});
