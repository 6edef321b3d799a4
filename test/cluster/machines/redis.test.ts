import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { type ChatClient, connect, connected, disconnectAll, expectOk, upgraded } from '../../support/clients.js';
import { DURABLE, RedisProcess } from '../../support/redis.js';
import { readinessOf } from '../../support/reports.js';
import { type LogLine, type RunningServer, startServer } from '../../support/server.js';
import { expectOnceAndInOrder } from '../../support/talk.js';
import { eventually, until } from '../../support/until.js';

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

describe('two servers on one Redis', () => {
  let redis: RedisProcess;
  let servers: RunningServer[];

  beforeAll(async () => {
    redis = await RedisProcess.start();
    servers = await Promise.all(
      [1, 2].map(() => startServer({ WORKERS: '2', BUS: 'redis-frames', REDIS_URL: redis.url })),
    );
  });

  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    await redis.remove();
  });

  test('say so at the start', () => {
    for (const { greeting } of servers) expect(greeting).toMatch(/ with 2 workers on the redis-frames bus$/);
  });

  test('20 default clients over both hear each message once and in order', async () => {
    const clients = Array.from({ length: 20 }, (_, index) => connect(servers[index % 2]!.url));
    await Promise.all(clients.map(upgraded));
    await joinAll(clients, 'hall');
    await expectOnceAndInOrder(clients, 'hall', 20);
  });

  test('count the users of both', async () => {
    const [astrid, bjorn] = servers.map(({ url }, index) =>
      connect(url, { auth: { name: ['Astrid', 'Bjørn'][index] } }),
    );
    await joinAll([astrid!], 'both');
    const bothThere = new Promise<void>((resolve) => {
      astrid!.on('presence', ({ members }) => members === 2 && resolve());
    });
    await joinAll([bjorn!], 'both');
    await bothThere;
    await eventually(async () =>
      expect(await bjorn!.emitWithAck('who', 'both')).toMatchObject({ members: 2, users: ['Astrid', 'Bjørn'] }),
    );
  });
});

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

  test('lose no client, no local message and, when Redis is back, nothing at all, while it is away', async () => {
    await withRedis(redis, servers);
    const here = [connect(servers[0]!.url), connect(servers[0]!.url)];
    const there = [connect(servers[1]!.url), connect(servers[1]!.url)];
    const everyone = [...here, ...there];
    await Promise.all(everyone.map(upgraded));
    const lost: string[] = [];
    for (const client of everyone) client.on('disconnect', (reason) => lost.push(reason));
    await joinAll(everyone, 'hall');
    await expectOnceAndInOrder(everyone, 'hall', 2);
    for (const server of servers) await untilReadinessIs(server, { status: 200, state: 'ready', problems: 0 });

    const before = servers.map(({ log }) => log.length);
    const down = servers.map((server, index) => busIs(server, false, before[index]));
    await redis.stop();
    await Promise.all(down);
    for (const server of servers) await untilReadinessIs(server, { status: 200, state: 'degraded', problems: 1 });
    await expectOnceAndInOrder(here, 'hall', 3);
    await expectOnceAndInOrder(there, 'hall', 3);
    const newcomer = connect(servers[0]!.url);
    await joinAll([newcomer], 'hall');

    const since = servers.map(({ log }) => log.length);
    const up = servers.map((server, index) => busIs(server, true, since[index]));
    await redis.start();
    await Promise.all(up);
    for (const server of servers) await until(async () => (await readiness(server)).problems === 0);
    await expectOnceAndInOrder([...everyone, newcomer], 'hall', 2);
    expect(lost).toEqual([]);
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

  test('refuses messages without its Redis, keeps its clients, and resumes', async () => {
    await withRedis(redis, [server]);
    const clients = [connect(server.url), connect(server.url)] as const;
    await Promise.all(clients.map(upgraded));
    const lost: string[] = [];
    for (const client of clients) client.on('disconnect', (reason) => lost.push(reason));
    await joinAll([...clients], 'kept');
    const heard: string[] = [];
    clients[1].on('message', ({ text }) => heard.push(text));
    expectOk(await clients[0].emitWithAck('message', { room: 'kept', text: 'before' }));

    const down = busIs(server, false, server.log.length);
    await redis.stop();
    await down;
    expect(await clients[0].emitWithAck('message', { room: 'kept', text: 'lost' })).toMatchObject({
      ok: false,
      code: expect.stringMatching(/^HISTORY_(UNAVAILABLE|UNCERTAIN)$/),
    });

    const up = busIs(server, true, server.log.length);
    await redis.start();
    await up;
    const fence = new Promise<void>((resolve) => {
      clients[1].on('message', ({ text }) => text === 'after' && resolve());
    });
    // The history has a connection of its own, which may take longer to come back.
    await until(async () => (await clients[0].emitWithAck('message', { room: 'kept', text: 'after' })).ok);
    await fence;
    expect(heard).toEqual(['before', 'after']);
    expect(lost).toEqual([]);
    await untilReadinessIs(server, { status: 200, state: 'ready', problems: 0 });
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
      try {
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
          expect(metrics).toContain(`gjallar_problem{code="REDIS_WRITES_REJECTED",text="${problem}",worker="1"} 1\n`);
        });
        await admin.call(repair[0], ...repair.slice(1));
        // No client posts anything: the server finds out by itself.
        await server.logged((one) => one.msg === `over: ${problem}` && isNew(one));
        expect(server.log.filter((one) => one.msg === problem && isNew(one))).toHaveLength(1);
        await untilReadinessIs(server, { status: 200, state: 'ready', problems: 0 });
        expectOk(await client.emitWithAck('message', { room: words, text: 'again' }));
      } finally {
        admin.disconnect();
      }
    },
  );
});
