import { connect as connectTcp } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Overview } from '../../../src/host/operations/overview/overview.js';
import { get } from '../../io/server/support/requests.js';
import { connect, connected, disconnectAll } from '../../support/clients.js';
import { freePort } from '../../support/ports.js';
import { isAlive } from '../../support/process.js';
import { readiness } from '../../support/reports.js';
import { runToEnd } from '../../support/server.js';
import { eventually, until } from '../../support/until.js';
import { pathOf, type RunningApplication, runApp, stopAll } from './support/application.js';
import { account, authorization, post } from './support/operator.js';
import '../../support/long.js';

afterEach(disconnectAll);

/** Sends a request as old health checks do. */
function askOld(admin: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTcp(Number(new URL(admin).port), '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('end', () => resolve(text));
    socket.on('error', reject);
    socket.write(`GET ${path} HTTP/1.0\r\n\r\n`);
  });
}

const readOverview = async ({ admin }: RunningApplication, headers: Record<string, string> = {}) =>
  (await (await fetch(`${admin}/api/overview`, { headers })).json()) as Overview;

/** Resolves when all workers answer: also the successor of one that a test has ended. */
const untilReady = (app: RunningApplication): Promise<void> =>
  until(async () => (await readiness(app.admin)).state === 'ready');

describe('the admin port of an application', () => {
  let app: RunningApplication;
  beforeAll(async () => {
    app = await runApp('chat.mjs', {
      args: ['--workers', '3'],
      env: { ALLOWED_HOSTS: 'chat.example.com,127.0.0.1', DRAIN_TIMEOUT: '1s' },
    });
  });
  beforeEach(() => untilReady(app));
  afterAll(stopAll);

  test('shows health, statistics and metrics of all workers', async () => {
    // Any worker of a busy machine may be late, and is then left out.
    await eventually(async () => {
      const ready = await fetch(`${app.admin}/readyz`);
      expect([ready.status, await ready.json()]).toEqual([
        200,
        { ok: true, state: 'ready', problems: [], warnings: [] },
      ]);
      const stats = (await (await fetch(`${app.admin}/api/stats`)).json()) as {
        workers: { id: number }[];
        namespaces: object;
      };
      expect(stats.workers).toHaveLength(3);
      expect(stats.namespaces).toEqual({ '/': 0 });
      const metrics = await (await fetch(`${app.admin}/metrics`)).text();
      expect(metrics.match(/^gjallar_worker_up\{worker="\d"\} 1$/gm)).toHaveLength(3);
      expect(metrics).toContain('\ngjallar_namespace_sockets{namespace="/"} 0\n');
      expect(metrics).toContain('\ngjallar_bus_up{bus="embedded"} 1\n');
      for (const { id } of stats.workers) expect(metrics).toContain(`\nprocess_open_fds{worker="${id}"} `);
    });
  });

  test('answers a scrape while a worker is busy, and names that worker', async () => {
    const client = connect(app.url);
    await connected(client);
    let isOver = false;
    const busy = (client as { emitWithAck(event: string, ms: number): Promise<unknown> })
      .emitWithAck('busy', 3000)
      .then(() => {
        isOver = true;
      });
    let text = '';
    await until(async () => {
      text = await (await fetch(`${app.admin}/metrics`)).text();
      return /^gjallar_worker_up\{.*\} 0$/m.test(text);
    });
    expect(isOver).toBe(false);
    const [, id] = /^gjallar_worker_up\{worker="(\d+)"\} 0$/m.exec(text)!;
    expect(text).toContain(`\ngjallar_problem{code="WORKER_SILENT",text="worker ${id} does not respond"} 1\n`);
    // The others have answered.
    expect(text.match(/^process_open_fds\{.*$/gm)).toHaveLength(2);
    expect(text).not.toContain(`process_open_fds{worker="${id}"}`);
    await busy;
  });

  test('counts what workers have done until their end', async () => {
    const sumsOf = async () => {
      const text = await (await fetch(`${app.admin}/metrics`)).text();
      const sum = (name: string) =>
        [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)$`, 'gm'))].reduce(
          (all, [, value]) => all + Number(value),
          0,
        );
      return {
        reloads: sum('gjallar_reloads_total'),
        known: sum('gjallar_connections_closed_total') + sum('gjallar_clients'),
        opened: sum('gjallar_connections_opened_total'),
      };
    };
    const { reloads } = await sumsOf();
    await Promise.all(Array.from({ length: 12 }, () => connected(connect(app.url))));
    app.process.kill('SIGHUP');
    await until(async () => (await sumsOf()).reloads > reloads);
    // Clients of the old workers connect again.
    await eventually(async () => {
      const { known, opened } = await sumsOf();
      expect(opened).toBeGreaterThanOrEqual(24);
      expect(known).toBe(opened);
    });
  });

  test('answers health checks over HTTP/1.0', async () => {
    expect(await askOld(app.admin, '/healthz')).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*\{"ok":true\}/);
    expect(await askOld(app.admin, '/readyz')).toMatch(/"state":"ready"/);
  });

  test('names no more hosts than ALLOWED_HOSTS does', async () => {
    const port = Number(new URL(app.admin).port);
    const statusOf = async (path: string, host: string) => (await get(port, path, { headers: { host } })).status;
    expect(await statusOf('/metrics', 'chat.example.com')).toBe(200);
    expect(await statusOf('/metrics', `127.0.0.1:${port}`)).toBe(200);
    expect(await statusOf('/metrics', `localhost:${port}`)).toBe(404);
    expect(await statusOf('/healthz', `localhost:${port}`)).toBe(200);
  });

  test('has no actions without an account', async () => {
    const refused = await fetch(`${app.admin}/api/drain`, { method: 'POST' });
    expect([refused.status, await refused.json()]).toMatchObject([404, { code: 'ADMIN_OFF' }]);
  });

  test('has an overview without names, without an account', async () => {
    await connected(connect(app.url));
    // It keeps what it has read for a moment.
    await until(async () => (await readOverview(app)).clients > 0);
    const overview = await readOverview(app);
    expect(overview).toMatchObject({ clients: 1, hasNames: false, rooms: [], addresses: [], namespaces: {} });
    expect((await fetch(`${app.admin}/admin/`)).headers.get('content-security-policy')).toMatch(/script-src 'self'/);
  });

  test('listens on the loopback interface alone by default', async () => {
    const others = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .filter(({ internal, family }) => !internal && family === 'IPv4');
    for (const { address } of others) {
      await expect(fetch(`${app.admin.replace('127.0.0.1', address)}/healthz`)).rejects.toThrow('fetch failed');
    }
    expect((await fetch(`${app.admin}/healthz`)).status).toBe(200);
  });

  test('holds no more connections than its limit', async () => {
    const port = Number(new URL(app.admin).port);
    const sockets = Array.from({ length: 300 }, () => connectTcp(port, '127.0.0.1'));
    const ended = sockets.map((socket) => new Promise<void>((resolve) => socket.once('close', () => resolve())));
    for (const socket of sockets) socket.on('error', () => {}).resume();
    // The connections beyond the limit are closed at once.
    let closed = 0;
    await new Promise<void>((resolve) => {
      for (const end of ended) void end.then(() => ++closed === 300 - 256 && resolve());
    });
    for (const socket of sockets) socket.destroy();
    await Promise.all(ended);
  });
});

describe('the admin port of an application, with an account', () => {
  let app: RunningApplication;
  beforeAll(async () => {
    app = await runApp('chat.mjs', { env: account });
  });
  beforeEach(() => untilReady(app));
  afterAll(stopAll);

  test('keeps actions and figures from callers without the password', async () => {
    for (const path of ['/metrics', '/api/stats']) {
      const response = await fetch(`${app.admin}${path}`);
      expect([path, response.status]).toEqual([path, 401]);
      expect(response.headers.get('www-authenticate')).toMatch(/^Basic /);
    }
    expect((await fetch(`${app.admin}/readyz`)).status).toBe(200);
    const foreign = { authorization, origin: 'https://evil.example' };
    expect((await fetch(`${app.admin}/api/reload`, { method: 'POST', headers: foreign })).status).toBe(403);
    expect((await fetch(`${app.admin}/api/reload`, { method: 'POST' })).status).toBe(401);
    expect((await fetch(`${app.admin}/api/reload`, { headers: { authorization } })).status).toBe(405);
    expect((await fetch(`${app.admin}/nothing`, { headers: { authorization } })).status).toBe(404);
    const accepted = await fetch(`${app.admin}/api/reload`, { method: 'POST', headers: { authorization } });
    expect(accepted.status).toBe(202);
    await app.logged(({ msg }) => msg === 'reload finished');
  });

  test('answers wrong actions with a remedy, rejects pages of other origins, and reports a stuck worker', async () => {
    const own = { origin: app.admin };
    const foreign = { origin: 'https://evil.example' };
    expect(await post(app, 'disconnect', { user: 'ada' }, own)).toMatchObject({ status: 200, disconnected: 0 });
    expect(await post(app, 'disconnect', { user: 'ada' }, foreign)).toMatchObject({ code: 'ORIGIN_FORBIDDEN' });
    expect(await post(app, 'disconnect', {})).toMatchObject({ status: 400, code: 'BAD_INPUT' });
    const two = { user: 'ada', id: 'x' };
    expect(await post(app, 'disconnect', two)).toMatchObject({ status: 400, code: 'BAD_INPUT' });
    expect(await post(app, 'disconnect', { address: 'no' })).toMatchObject({ status: 400, code: 'BAD_INPUT' });
    expect(await post(app, 'close-room', { room: 7 })).toMatchObject({ status: 400, code: 'BAD_INPUT' });
    expect(await post(app, 'disconnect', '{')).toMatchObject({ status: 400, code: 'BAD_JSON' });
    expect(await post(app, 'disconnect', 'x'.repeat(20_000))).toMatchObject({ status: 413, code: 'BODY_TOO_LARGE' });
    const wrong = { authorization: `Basic ${Buffer.from('op:wrong').toString('base64')}` };
    expect(await post(app, 'disconnect', { user: 'ada' }, wrong)).toMatchObject({ status: 401, code: 'ADMIN_ONLY' });

    let pids: number[] = [];
    // What it has read just before a reload has the old workers.
    await until(async () => {
      const stats = await fetch(`${app.admin}/api/stats`, { headers: { authorization } });
      pids = ((await stats.json()) as { workers: { pid: number }[] }).workers.map(({ pid }) => pid);
      return pids.length === 2 && pids.every(isAlive);
    });
    process.kill(pids[1]!, 'SIGSTOP');
    const answer = await post(app, 'disconnect', { user: 'ada' });
    expect(answer).toMatchObject({ ok: true, reached: { workers: 1, machines: 1 }, complete: false });
    process.kill(pids[1]!, 'SIGKILL');
  });

  test('drains', async () => {
    // One of its own: after this it takes no clients.
    const app = await runApp('chat.mjs', { env: { ...account, WORKERS: '1' } });
    expect((await fetch(`${app.admin}/api/drain`, { method: 'POST', headers: { authorization } })).status).toBe(202);
    const ready = await fetch(`${app.admin}/readyz`);
    expect([ready.status, await ready.json()]).toMatchObject([503, { ok: false, state: 'draining' }]);
  });
});

test('an application that wants to listen on the admin port is told so', async () => {
  const port = String(await freePort());
  const env = { WORKERS: '1', ADMIN_PORT: port, APP_PORT: port };
  const { code, stdout, stderr } = await runToEnd(['run', pathOf('chat.mjs')], env);
  expect(code).toBe(1);
  const why = `the application cannot listen on port ${port}: ADMIN_PORT=${port} uses it. Set another ADMIN_PORT, or`;
  expect(stdout.split(why)).toHaveLength(2);
  expect(stderr).toMatch(/EADDRINUSE/);
});
