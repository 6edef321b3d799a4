import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { movesConnections } from '../../../src/cluster/primary/ports.js';
import { disconnectAll, expectOk, nextEvent, workersOf } from '../../support/clients.js';
import { isAlive } from '../../support/process.js';
import { type LogLine, type RunningServer, startServer } from '../../support/server.js';
import { expectOnceAndInOrder } from '../../support/talk.js';
import { eventually, until } from '../../support/until.js';
import { crowd, plainMember, readyz } from '../support/visitors.js';
import '../../support/long.js';
import { temporaryFolder } from '../../support/folder.js';

/** Where the server has its sockets. */
let directory: string;
/** The server of all tests, with two workers, which they replace again and again. */
let server: RunningServer;
/** The numbers of its two workers. */
let current = [1, 2];
/** The number of the next worker that it starts. */
let next = 3;

beforeAll(async () => {
  directory = temporaryFolder();
  const admin = { ADMIN_USER: 'ops', ADMIN_PASSWORD: 'password' };
  server = await startServer({ TMPDIR: directory, DRAIN_TIMEOUT: '1s', ...admin });
});

afterEach(disconnectAll);

afterAll(async () => {
  await server.stop();
});

/** The process ids of the two workers, once they listen: their lines may come after the primary's. */
const workers = () => Promise.all(current.map((worker) => server.pidOfWorker(worker)));

/** Sends SIGHUP. Resolves with the first line from now on that fits. */
function hangUp(fits: (line: LogLine) => boolean): Promise<LogLine> {
  const from = server.log.length;
  server.process.kill('SIGHUP');
  return server.logged((line) => fits(line) && server.log.indexOf(line) >= from);
}

/** Replaces both workers. */
async function reload(): Promise<void> {
  await hangUp((line) => line.msg === 'reload finished' && line.replaced === 2);
  current = [next, next + 1];
  next += 2;
}

describe('SIGHUP', () => {
  test('replaces all workers, and every client comes back by itself, once, without a refusal', async () => {
    const clients = await crowd(server, 24);
    const { closed } = await plainMember(server, 'hall');
    const before = await workers();
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
      for (; !isOver; await sleep(2)) {
        const response = await fetch(`${server.url}/healthz`).catch(({ cause }: Error) => {
          if ((cause as NodeJS.ErrnoException).code !== 'ECONNRESET') throw cause;
          resets++;
        });
        if (response) expect(response.status).toBe(200);
      }
    })();

    await reload();
    await Promise.all(back);
    isOver = true;
    await requests;
    // Where the kernel does not move connections, it may reset the one that is being made as an old worker stops listening.
    expect(resets).toBeLessThanOrEqual(movesConnections() ? 0 : 2);
    expect(before.map(isAlive)).toEqual([false, false]);
    expect((await workers()).map(isAlive)).toEqual([true, true]);
    expect(comings).toEqual(clients.map(() => 1));
    expect(errors).toEqual([]);
    // A client on polling learns it from an answer with an error.
    for (const reason of reasons) expect(['transport close', 'transport error']).toContain(reason);
    expect(await closed).toEqual([1012, 'service restart']);
    expect((await workersOf(clients)).every((worker) => worker > 2)).toBe(true);
    await expectOnceAndInOrder(clients, 'which worker', 2);
  });

  test('answers what clients have asked for before they are told to go', async () => {
    const clients = await crowd(server, 12);
    for (const client of clients) expectOk(await client.emitWithAck('join', 'office'));
    const said = new Set<string>();
    const back = clients.map((client) => nextEvent(client, 'connect'));
    let isNear = false;
    void server.pidOfWorker(next).then(() => {
      isNear = true;
    });
    const over = reload();
    const talking = clients.map(async (client, index) => {
      for (let number = 0; client.connected; number++) {
        // Nobody is told to go before there is a new worker.
        if (!isNear) await sleep(20);
        // Who has to go while a message is on its way gets no answer, and would send it again.
        const reply = await client
          .timeout(30_000)
          .emitWithAck('message', { room: 'office', text: `${index}:${number}` })
          .catch(() => undefined);
        if (reply) {
          expectOk(reply);
          said.add(`${index}:${number}`);
        }
      }
    });
    await Promise.all([...back, ...talking]);
    await over;
    const kept = new Set<string>();
    for (let after = 0, last = 1; after < last; ) {
      const page = expectOk(await clients[1]!.emitWithAck('history', { room: 'office', after }));
      for (const { text } of page.messages) kept.add(text);
      after += page.messages.length;
      last = page.offset;
    }
    expect([...said].filter((text) => !kept.has(text))).toEqual([]);
    expect(said.size).toBeGreaterThan(0);
  });

  test('keeps the old workers where new ones do not start', async () => {
    const clients = await crowd(server, 3);
    const before = await workers();
    const finished = () => server.log.filter((line) => line.msg === 'reload finished').length;
    const finishedBefore = finished();
    // The next worker finds its place taken.
    const failing = next++;
    for (const name of readdirSync(directory)) mkdirSync(join(directory, name, `${failing}.sock`));
    await hangUp((line) => String(line.msg).startsWith(`reload aborted: new worker ${failing} `));
    expect(finished()).toBe(finishedBefore);
    expect(before.map(isAlive)).toEqual([true, true]);
    expect(clients.map((client) => client.connected)).toEqual([true, true, true]);
    expect((await readyz(server)).status).toBe(200);
  });
});

describe('SIGUSR2', () => {
  test('says that this machine takes no clients, sends them away, serves who comes, until a reload', async () => {
    const clients = await crowd(server, 6);
    const { closed } = await plainMember(server, 'lobby');
    const back = clients.map((client) => nextEvent(client, 'connect'));
    server.process.kill('SIGUSR2');
    await Promise.all(back);
    expect(await closed).toEqual([1012, 'service restart']);
    await eventually(async () => expect(await readyz(server)).toMatchObject({ status: 503, state: 'draining' }));
    // A worker may answer before it has heard that the other's member is gone, and the next round ends the question.
    const members = () => clients[0]!.emitWithAck('who', 'lobby').then(expectOk, () => ({ members: undefined }));
    await until(async () => (await members()).members === 0);

    await reload();
    expect(await readyz(server)).toMatchObject({ status: 200, state: 'ready' });
  });
});
