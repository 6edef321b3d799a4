import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { connect, connected, nextEvent } from '../support/clients.js';
import { temporaryFolder } from '../support/folder.js';
import { hasIpv6 } from '../support/ipv6.js';
import { isAlive, untilGone } from '../support/process.js';
import { until } from '../support/until.js';
import { directory, pids, server, start } from './support/own-server.js';
import { crowd, plainMember, readyz } from './support/visitors.js';
import '../support/long.js';

const DIED = 'a worker died and will be replaced';

const timeOf = ({ time }: Record<string, unknown>): number => Date.parse(time as string);

function commandLine(pid: number): string[] {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
}

async function get(path: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(server.url + path);
  return { status: response.status, body: await response.json() };
}

/** Clients on two transports, and then a signal to the primary alone. */
async function expectToEnd(signal: NodeJS.Signals, ...ids: number[]): Promise<void> {
  const clients = [connect(server.url), connect(server.url, { transports: ['polling'] })];
  await Promise.all(clients.map(connected));
  const workers = await pids(...ids);
  expect(workers.map(isAlive)).toEqual(ids.map(() => true));
  expect(readdirSync(directory)).toHaveLength(1);
  const disconnected = clients.map((client) => nextEvent(client, 'disconnect'));

  server.process.kill(signal);
  expect(await once(server.process, 'exit')).toEqual([0, null]);
  expect(workers.map(isAlive)).toEqual(ids.map(() => false));
  expect(readdirSync(directory)).toEqual([]);
  await Promise.all(disconnected);
}

test('the start tells all in one line, every line has the same schema, and SIGTERM leaves nothing behind', async () => {
  await start({ WORKERS: '3' });
  expect(server.greeting).toBe(`gjallar listens on http://127.0.0.1:${server.port} with 3 workers on the embedded bus`);
  expect(new Set(await pids(1, 2, 3)).size).toBe(3);
  for (const line of server.log) {
    expect(line).toMatchObject({
      level: expect.stringMatching(/^(info|warn)$/),
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      pid: expect.any(Number),
      msg: expect.any(String),
      ...(line.process === 'worker' ? { worker: expect.any(Number) } : { process: 'primary' }),
    });
  }
  await expectToEnd('SIGTERM', 1, 2, 3);
});

(hasIpv6 ? test : test.skip)(
  'the start says one worker, shows an IPv6 address as a browser takes it, and leaves a young generation as it is',
  async () => {
    // Somebody has chosen the size of the young generation.
    await start({ WORKERS: '1', HOST: '::1', NODE_OPTIONS: '--max-semi-space-size=8' });
    expect(server.greeting).toBe(`gjallar listens on http://[::1]:${server.port} with 1 worker on the embedded bus`);
    expect((await fetch(`http://[::1]:${server.port}/healthz`)).status).toBe(200);
    expect(commandLine(await server.pidOfWorker(1)).join(' ')).not.toContain('--max-semi-space-size');
  },
);

test('is healthy with a small young generation for each worker, and SIGINT frees the port for the next start', async () => {
  await start();
  expect(await get('/healthz')).toEqual({ status: 200, body: { ok: true } });
  expect(await get('/readyz')).toEqual({
    status: 200,
    body: { ok: true, state: 'ready', problems: [], warnings: [] },
  });
  expect(await get('/nowhere')).toMatchObject({ status: 404, body: { ok: false, code: 'NOT_FOUND' } });
  for (const pid of await pids(1, 2)) expect(commandLine(pid)).toContain('--max-semi-space-size=2');
  const { port } = server;
  await expectToEnd('SIGINT', 1, 2);
  await server.restart();
  expect(server.port).toBe(port);
  expect((await get('/healthz')).status).toBe(200);
});

describe('the end', () => {
  test('Ctrl-C, which every process hears, and twice, is no different', async () => {
    await start();
    const workers = await pids(1, 2);
    for (const pid of [...workers, server.process.pid!]) process.kill(pid, 'SIGINT');
    server.process.kill('SIGINT');
    expect(await once(server.process, 'exit')).toEqual([0, null]);
    expect(workers.map(isAlive)).toEqual([false, false]);
    expect(readdirSync(directory)).toEqual([]);
    expect(server.log.some((line) => line.msg === DIED)).toBe(false);
  });

  test('a primary that is killed takes its workers with it', async () => {
    await start();
    // One that could not remove its socket.
    process.kill(await server.pidOfWorker(1), 'SIGKILL');
    const workers = await pids(2, 3);
    server.process.kill('SIGKILL');
    // That its output is closed would not tell: a process closes its files before it is gone.
    await Promise.all(workers.map(untilGone));
    expect(readdirSync(directory)).toEqual([]);
    const msg = 'the primary is gone: this worker ends, and its clients are disconnected';
    expect(await server.logged((line) => line.msg === msg)).toMatchObject({ level: 'fatal', process: 'worker' });
  });

  test('on SIGTERM answers the polls that wait, closes in order, and takes no longer than that', async () => {
    await start({ WORKERS: '1', DRAIN_TIMEOUT: '6s' });
    const clients = await crowd(server, 6);
    const { closed } = await plainMember(server, 'hall');
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

  test('after a second SIGTERM does not wait for anybody', async () => {
    await start({ WORKERS: '1', DRAIN_TIMEOUT: '1h' });
    // Without a poll it cannot be told.
    const opening = await (await fetch(`${server.url}/socket.io/?EIO=4&transport=polling`)).text();
    expect(opening).toMatch(/^0\{"sid"/);
    const agent = new Agent({ keepAlive: true });
    const exit = once(server.process, 'exit');
    let answer = await readyz(server, agent);
    server.process.kill('SIGTERM');
    // A connection that is kept gets an answer, and ends with it.
    while (answer.status === 200) answer = await readyz(server, agent);
    expect(answer).toEqual({ status: 503, state: 'draining', connection: 'close' });
    // It accepts connections until a turn of its loop is idle.
    await until(async () => {
      const later = await readyz(server, agent).catch(({ code }) => code);
      if (later !== 'ECONNREFUSED') expect(later).toEqual(answer);
      return later === 'ECONNREFUSED';
    });
    server.process.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
    expect(await server.logged((line) => line.msg === 'stopping')).toMatchObject({ clients: 1, left: 1 });
  });
});

describe('a worker that dies', () => {
  test('is replaced, at once at first and with growing delays if it keeps dying', async () => {
    await start({ WORKERS: '1' });
    for (let id = 1; id <= 5; id++) process.kill(await server.pidOfWorker(id), 'SIGKILL');
    await server.pidOfWorker(6);
    const deaths = server.log.filter((line) => line.msg === DIED);
    expect(deaths.map(({ worker, signal, delay }) => ({ worker, signal, delay }))).toEqual(
      [0, 100, 200, 400, 800].map((delay) => ({ worker: expect.anything(), signal: 'SIGKILL', delay })),
    );
    const times = deaths.map(timeOf);
    const births = [2, 3, 4, 5, 6].map((id) =>
      timeOf(server.log.find((line) => line.msg === 'listening' && line.worker === id)!),
    );
    for (const [index, delay] of [0, 100, 200, 400, 800].entries()) {
      // Timers may be early by one.
      expect(births[index]! - times[index]!).toBeGreaterThanOrEqual(delay - 1);
    }
    expect((await get('/readyz')).status).toBe(200);
  });

  test('is not replaced while everything stops', async () => {
    await start({ WORKERS: '2' });
    process.kill(await server.pidOfWorker(1), 'SIGKILL');
    await server.logged((line) => line.msg === DIED);
    server.process.kill('SIGTERM');
    expect(await once(server.process, 'exit')).toEqual([0, null]);
    expect(readdirSync(directory)).toEqual([]);
  });

  test.each([
    ['whose error Node.js emits', (folder: string) => rmSync(folder, { recursive: true })],
    [
      'that Node.js throws',
      (folder: string) => {
        rmSync(folder, { recursive: true });
        writeFileSync(folder, '');
      },
    ],
  ])('is replaced once the system starts processes again, after a failure %s', async (_what, remove) => {
    const folder = join(temporaryFolder(), 'bin');
    const node = join(folder, 'node');
    const install = () => {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder);
      symlinkSync(process.execPath, node);
    };
    install();
    const use = `data:text/javascript,process.execPath=${encodeURIComponent(JSON.stringify(node))}`;
    await start({ NODE_OPTIONS: `--import=${use}` });
    process.kill(await server.pidOfWorker(1), 'SIGKILL');
    const [, other] = await pids(3, 2);

    remove(folder);
    process.kill(await server.pidOfWorker(3), 'SIGKILL');
    const failures = () =>
      server.log.filter(({ msg }) => msg === 'a worker that died cannot be replaced yet, and will be');
    await until(() => failures().length === 2);
    expect(failures().map(({ code, worker }) => ({ code, worker }))).toEqual(
      Array(2).fill({ code: 'WORKERS_MISSING', worker: 3 }),
    );
    expect(await server.reload()).toMatchObject({
      code: 'RELOAD_ABORTED',
      reason: expect.stringContaining('a new worker cannot be started'),
    });
    expect(isAlive(other!)).toBe(true);
    expect((await get('/healthz')).status).toBe(200);

    install();
    const listening = server.log.length;
    await server.logged(({ msg, process }) => msg === 'listening' && process === 'worker', listening);
    expect(await server.reload()).toMatchObject({ msg: 'reload finished', replaced: 2, workers: 2 });
  });
});
