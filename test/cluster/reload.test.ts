import { once } from 'node:events';
import { mkdirSync, readdirSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import WebSocket from 'ws';
import { movesConnections } from '../../src/cluster/primary/ports.js';
import { type ChatClient, connect, connected, expectOk, nextEvent, upgraded, workersOf } from '../support/clients.js';
import { isAlive } from '../support/process.js';
import { RedisProcess } from '../support/redis.js';
import { everyoneTalks, expectOnceAndInOrder } from '../support/talk.js';
import { eventually, until } from '../support/until.js';
import { directory, pids, server, start as startOwn } from './support/own-server.js';

const start = (environment: Record<string, string> = {}) => startOwn({ DRAIN_TIMEOUT: '1s', ...environment });
const over = (replaced: number) =>
  server.logged((line) => line.msg === 'reload finished' && line.replaced === replaced);

/** Clients of each transport, in turn, that come back soon. */
async function crowd(count: number): Promise<ChatClient[]> {
  const transports = [['polling'], ['websocket'], ['polling', 'websocket']] as 'polling'[][];
  const clients = Array.from({ length: count }, (_, index) =>
    connect(server.url, { transports: transports[index % 3], reconnectionDelay: 50, reconnectionDelayMax: 200 }),
  );
  await Promise.all(clients.map((client, index) => (index % 3 === 2 ? upgraded(client) : connected(client))));
  return clients;
}

async function plainMember(room: string): Promise<{ socket: WebSocket; closed: Promise<[number, string]> }> {
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/${room}`);
  const closed = once(socket, 'close').then(([code, reason]) => [code, String(reason)] as [number, string]);
  await once(socket, 'open');
  return { socket, closed };
}

/** What /readyz says, on a connection of its own or on that of an agent. */
function readyz(agent?: Agent): Promise<{ status: number; state: string; connection: string | undefined }> {
  return new Promise((resolve, reject) => {
    request(`${server.url}/readyz`, { agent: agent ?? false }, async (response) => {
      let body = '';
      for await (const chunk of response) body += chunk;
      const { statusCode: status = 0, headers } = response;
      resolve({ status, state: JSON.parse(body).state, connection: headers.connection });
    })
      .on('error', reject)
      .end();
  });
}

describe('SIGHUP', () => {
  test('replaces all workers, and every client comes back by itself, once, without a refusal', async () => {
    await start();
    const clients = await crowd(24);
    const { closed } = await plainMember('hall');
    const before = await pids(1, 2);
    const comings = clients.map(() => 0);
    const reasons: string[] = [];
    const errors: Error[] = [];
    const back = clients.map((client, index) => {
      client.on('disconnect', (reason) => reasons.push(reason));
      client.on('connect_error', (error) => errors.push(error));
      client.on('connect', () => comings[index]!++);
      return nextEvent(client, 'connect');
    });
    let isOver = false;
    let resets = 0;
    const requests = (async () => {
      while (!isOver) {
        const response = await fetch(`${server.url}/healthz`).catch(({ cause }: Error) => {
          if ((cause as NodeJS.ErrnoException).code !== 'ECONNRESET') throw cause;
          resets++;
        });
        if (response) expect(response.status).toBe(200);
      }
    })();

    server.process.kill('SIGHUP');
    await over(2);
    await Promise.all(back);
    isOver = true;
    await requests;
    // Where the kernel does not move connections, it may reset the one that is being made as an old worker stops listening.
    expect(resets).toBeLessThanOrEqual(movesConnections() ? 0 : 2);
    expect(before.map(isAlive)).toEqual([false, false]);
    expect((await pids(3, 4)).map(isAlive)).toEqual([true, true]);
    expect(comings).toEqual(clients.map(() => 1));
    expect(errors).toEqual([]);
    // A client on polling learns it from an answer with an error.
    for (const reason of reasons) expect(['transport close', 'transport error']).toContain(reason);
    expect(await closed).toEqual([1012, 'service restart']);
    expect((await workersOf(clients)).every((worker) => worker > 2)).toBe(true);
    expectOnceAndInOrder(await everyoneTalks(clients, 'which worker', 2), 24, 2);
  });

  test('answers what clients have asked for before they are told to go', async () => {
    await start();
    const clients = await crowd(12);
    for (const client of clients) expectOk(await client.emitWithAck('join', 'hall'));
    const said = new Set<string>();
    const back = clients.map((client) => nextEvent(client, 'connect'));
    server.process.kill('SIGHUP');
    const talking = clients.map(async (client, index) => {
      for (let number = 0; client.connected; number++) {
        // Who has to go while a message is on its way gets no answer, and would send it again.
        const reply = await client
          .timeout(5000)
          .emitWithAck('message', { room: 'hall', text: `${index}:${number}` })
          .catch(() => undefined);
        if (reply) {
          expectOk(reply);
          said.add(`${index}:${number}`);
        }
      }
    });
    await Promise.all([...back, ...talking]);
    await over(2);
    const kept = new Set<string>();
    for (let after = 0, last = 1; after < last; ) {
      const page = expectOk(await clients[1]!.emitWithAck('history', { room: 'hall', after }));
      for (const { text } of page.messages) kept.add(text);
      after += page.messages.length;
      last = page.offset;
    }
    expect([...said].filter((text) => !kept.has(text))).toEqual([]);
    expect(said.size).toBeGreaterThan(0);
  });

  test('keeps the old workers where new ones do not start', async () => {
    await start();
    const clients = await crowd(3);
    const before = await pids(1, 2);
    // The third worker finds its place taken.
    for (const name of readdirSync(directory)) mkdirSync(join(directory, name, '3.sock'));
    server.process.kill('SIGHUP');
    await server.logged((line) => String(line.msg).startsWith('reload aborted: new worker 3 '));
    expect(server.log.filter((line) => line.msg === 'reload finished')).toEqual([]);
    expect(before.map(isAlive)).toEqual([true, true]);
    expect(clients.map((client) => client.connected)).toEqual([true, true, true]);
    expect((await readyz()).status).toBe(200);
  });

  test('an old worker that dies before its turn is replaced once', async () => {
    // Its turn does not come before the test has killed it.
    await start({ RELOAD_SETTLE: '3s' });
    const [, second] = await pids(1, 2);
    server.process.kill('SIGHUP');
    await server.logged((line) => line.msg === 'reload started');
    process.kill(second!, 'SIGKILL');
    await over(1);
    await pids(3, 4);
    const began = server.log.filter(({ msg }) => msg === 'listening').map(({ worker }) => worker);
    expect(began.sort()).toEqual([1, 2, 3, 4]);
  });

  test('during a reload is not lost: however many there are, one more reload follows', async () => {
    // The first reload does not end before all signals are sent.
    await start({ RELOAD_SETTLE: '2s' });
    server.process.kill('SIGHUP');
    await server.logged((line) => line.msg === 'reload started');
    for (let n = 0; n < 10; n++) {
      server.process.kill('SIGHUP');
      // Signals that wait for the same process at the same time are one.
      await nextTurn();
    }
    await server.logged((line) => line.msg === 'a reload is already in progress: one more follows it');
    await pids(5, 6);
    const finished = () => server.log.filter((line) => line.msg === 'reload finished');
    await until(() => finished().length === 2);
    expect((await pids(1, 2, 3, 4, 5, 6)).map(isAlive)).toEqual([false, false, false, false, true, true]);
    await server.stop();
    expect(finished().map(({ replaced }) => replaced)).toEqual([2, 2]);
    expect(server.log.filter((line) => line.msg === 'reload started')).toHaveLength(2);
  });
});

test('new workers that are not ready replace none, until they are', async () => {
  const redis = await RedisProcess.start();
  try {
    await start({ REDIS_URL: redis.url, BUS: 'embedded', WORKERS: '1' });
    await until(async () => (await readyz()).status === 200);
    const [old] = await pids(1);
    await redis.stop();
    server.process.kill('SIGHUP');
    await pids(2);
    // Its check takes a round trip; the next ones come every 200 ms.
    for (let statuses = new Set(); statuses.size < 2; ) statuses.add((await readyz()).status);
    expect(isAlive(old!)).toBe(true);
    expect(server.log.some((line) => line.msg === 'reload finished')).toBe(false);
    const back = new Date().toISOString();
    await redis.start();
    await over(1);
    const { time } = server.log.find((line) => line.msg === 'reload finished')!;
    expect(String(time) > back).toBe(true);
  } finally {
    await redis.remove();
  }
});

describe('SIGUSR2', () => {
  test('says that this machine takes no clients, sends them away, serves who comes, until a reload', async () => {
    await start();
    const clients = await crowd(6);
    const { closed } = await plainMember('hall');
    const back = clients.map((client) => nextEvent(client, 'connect'));
    server.process.kill('SIGUSR2');
    await Promise.all(back);
    expect(await closed).toEqual([1012, 'service restart']);
    await eventually(async () => expect(await readyz()).toMatchObject({ status: 503, state: 'draining' }));
    // A worker may answer before it has heard that the other's member is gone, and the next round ends the question.
    const members = () => clients[0]!.emitWithAck('who', 'hall').then(expectOk, () => ({ members: undefined }));
    while ((await members()).members !== 0);

    server.process.kill('SIGHUP');
    await over(2);
    expect(await readyz()).toMatchObject({ status: 200, state: 'ready' });
  });

  test('also holds for a worker that comes later', async () => {
    await start({ WORKERS: '1' });
    server.process.kill('SIGUSR2');
    await server.logged((line) => String(line.msg).startsWith('draining all clients'));
    process.kill(await server.pidOfWorker(1), 'SIGKILL');
    await server.pidOfWorker(2);
    let state = '';
    while (state !== 'draining') ({ state } = await readyz());
  });
});

describe('POST /api/drain', () => {
  const admin = { ADMIN_USER: 'ops', ADMIN_PASSWORD: 'password' };
  const operator = { Authorization: `Basic ${Buffer.from('ops:password').toString('base64')}` };

  async function askToDrain(headers: Record<string, string> = {}) {
    const response = await fetch(`${server.url}/api/drain`, { method: 'POST', headers });
    return { status: response.status, body: (await response.json()) as { code?: string } };
  }

  test('sends the clients of all workers away, until a reload', async () => {
    await start(admin);
    const clients = await crowd(6);
    const back = clients.map((client) => nextEvent(client, 'connect'));
    expect(await askToDrain(operator)).toEqual({ status: 202, body: { ok: true, state: 'draining', over: 1000 } });
    await Promise.all(back);
    await eventually(async () => {
      for (const agent of [1, 2, 3, 4].map(() => new Agent())) {
        expect(await readyz(agent)).toMatchObject({ status: 503, state: 'draining' });
      }
    });
    expect((await askToDrain(operator)).status).toBe(202);
    server.process.kill('SIGHUP');
    await over(2);
    expect(await readyz()).toMatchObject({ status: 200, state: 'ready' });
  });

  test("is the operator's alone", async () => {
    await start({ ...admin, CORS_ORIGIN: '*' });
    const client = (await crowd(1))[0]!;
    expect(await askToDrain()).toMatchObject({ status: 401, body: { code: 'ADMIN_ONLY' } });
    // A page that somebody else has put into the operator's browser, which adds the password by itself.
    for (const origin of ['https://evil.example', 'null']) {
      const refused = await askToDrain({ ...operator, Origin: origin });
      expect(refused).toMatchObject({ status: 403, body: { code: 'ORIGIN_FORBIDDEN' } });
    }
    expect((await fetch(`${server.url}/api/drain`, { headers: operator })).status).toBe(405);
    expect(client.connected).toBe(true);
    const sendings = () => server.log.filter((line) => String(line.msg).startsWith('draining all clients'));
    // All that was logged is there once it has stopped.
    await server.stop();
    expect(sendings()).toEqual([]);
    await start();
    expect(await askToDrain(operator)).toMatchObject({ status: 404, body: { code: 'ADMIN_OFF' } });
    await server.stop();
    expect(sendings()).toEqual([]);
  });
});

describe('SIGTERM', () => {
  test('answers the polls that wait, closes in order, and takes no longer than that', async () => {
    await start({ WORKERS: '1', DRAIN_TIMEOUT: '6s' });
    const clients = await crowd(6);
    const { closed } = await plainMember('hall');
    const disconnected = clients.map((client) => nextEvent(client, 'disconnect'));
    const exit = once(server.process, 'exit');
    server.process.kill('SIGTERM');
    const reasons = (await Promise.all(disconnected)).map(([reason]) => reason);
    // Of three clients, the first stays on polling, whose end is an answer with an error.
    expect(reasons).toEqual([0, 1].flatMap(() => ['transport error', 'transport close', 'transport close']));
    expect(await closed).toEqual([1001, 'the server stops']);
    expect(await exit).toEqual([0, null]);
    expect(await server.logged((line) => line.msg === 'stopping')).toMatchObject({ clients: 7, left: 0 });
  });

  test('a second one does not wait for anybody', async () => {
    await start({ WORKERS: '1', DRAIN_TIMEOUT: '1h' });
    // Without a poll it cannot be told.
    const opening = await (await fetch(`${server.url}/socket.io/?EIO=4&transport=polling`)).text();
    expect(opening).toMatch(/^0\{"sid"/);
    const agent = new Agent({ keepAlive: true });
    const exit = once(server.process, 'exit');
    let answer = await readyz(agent);
    server.process.kill('SIGTERM');
    // A connection that is kept gets an answer, and ends with it.
    while (answer.status === 200) answer = await readyz(agent);
    expect(answer).toEqual({ status: 503, state: 'draining', connection: 'close' });
    // It accepts connections until a turn of its loop is idle.
    await until(async () => {
      const later = await readyz(agent).catch(({ code }) => code);
      if (later !== 'ECONNREFUSED') expect(later).toEqual(answer);
      return later === 'ECONNREFUSED';
    });
    server.process.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
    expect(await server.logged((line) => line.msg === 'stopping')).toMatchObject({ clients: 1, left: 1 });
  });
});
