import { connect as connectTcp } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterEach, describe, expect, test } from '@jest/globals';
import { type RunningServer, startServer } from '../support/server.js';
import { type RunningApplication, runApp, stopAll } from './support/application.js';

afterEach(stopAll);

const account = { ADMIN_USER: 'op', ADMIN_PASSWORD: 'secret' };
const authorization = `Basic ${Buffer.from('op:secret').toString('base64')}`;

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

/** Resolves with the answer of /readyz once it names this problem alone: any worker of a busy machine may be late. */
async function readinessWith(app: RunningApplication, problem: string): Promise<object> {
  for (;;) {
    const answer = (await (await fetch(`${app.admin}/readyz`)).json()) as { problems: string[] };
    if (answer.problems.join() === problem) return answer;
  }
}

describe('the admin port of an application', () => {
  test('shows health, statistics and metrics of all workers', async () => {
    const app = await runApp('chat.mjs', { args: ['--workers', '3'] });
    const ready = await fetch(`${app.admin}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([200, { ok: true, state: 'ready', problems: [], warnings: [] }]);
    const stats = (await (await fetch(`${app.admin}/api/stats`)).json()) as { workers: object[]; namespaces: object };
    expect(stats.workers).toHaveLength(3);
    expect(stats.namespaces).toEqual({ '/': 0 });
    const metrics = await (await fetch(`${app.admin}/metrics`)).text();
    expect(metrics).toMatch(/^gjallar_namespace_sockets\{namespace="\/",worker="3"\} 0$/m);
    expect(metrics.match(/^gjallar_worker_up\{worker="\d"\} 1$/gm)).toHaveLength(3);
    expect(metrics).toMatch(/^gjallar_bus_up\{bus="embedded",worker="1"\} 1$/m);
  });

  test('answers health checks over HTTP/1.0', async () => {
    const app = await runApp('chat.mjs');
    expect(await askOld(app.admin, '/healthz')).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*\{"ok":true\}/);
    expect(await askOld(app.admin, '/readyz')).toMatch(/"state":"ready"/);
  });

  test('names a worker that does not respond', async () => {
    const app = await runApp('chat.mjs');
    const stats = (await (await fetch(`${app.admin}/api/stats`)).json()) as { workers: { id: number; pid: number }[] };
    const { id, pid } = stats.workers[0]!;
    process.kill(pid, 'SIGSTOP');
    const problem = `worker ${id} does not respond`;
    expect(await readinessWith(app, problem)).toEqual({
      ok: true,
      state: 'degraded',
      problems: [problem],
      warnings: [],
    });
    expect(await (await fetch(`${app.admin}/metrics`)).text()).toMatch(/^gjallar_worker_up\{worker="\d+"\} 0$/m);
    process.kill(pid, 'SIGKILL');
  });

  test('keeps actions and figures from callers without the password', async () => {
    const app = await runApp('chat.mjs', { env: account });
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

  test('has no actions without an account, and drains with one', async () => {
    const open = await runApp('chat.mjs');
    const refused = await fetch(`${open.admin}/api/drain`, { method: 'POST' });
    expect([refused.status, await refused.json()]).toMatchObject([404, { code: 'ADMIN_OFF' }]);
    const app = await runApp('chat.mjs', { env: account });
    expect((await fetch(`${app.admin}/api/drain`, { method: 'POST', headers: { authorization } })).status).toBe(202);
    const ready = await fetch(`${app.admin}/readyz`);
    expect([ready.status, await ready.json()]).toMatchObject([503, { ok: false, state: 'draining' }]);
  });

  test('listens on the loopback interface alone by default', async () => {
    const app = await runApp('chat.mjs');
    const others = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .filter(({ internal, family }) => !internal && family === 'IPv4');
    for (const { address } of others) {
      await expect(fetch(`${app.admin.replace('127.0.0.1', address)}/healthz`)).rejects.toThrow('fetch failed');
    }
    expect((await fetch(`${app.admin}/healthz`)).status).toBe(200);
  });

  test('holds no more connections than its limit', async () => {
    const app = await runApp('chat.mjs');
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

  test('names no more hosts than ALLOWED_HOSTS does', async () => {
    const app = await runApp('chat.mjs', { env: { ALLOWED_HOSTS: 'chat.example.com' } });
    expect((await fetch(`${app.admin}/metrics`)).status).toBe(404);
    expect((await fetch(`${app.admin}/healthz`)).status).toBe(200);
  });
});

test('the chat service has the same port', async () => {
  const server: RunningServer = await startServer({ ADMIN_PORT: '0' });
  const { port } = await server.logged(({ msg }) => msg === 'the admin port is open');
  const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([200, { ok: true, state: 'ready', problems: [], warnings: [] }]);
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  expect(metrics).toMatch(/^gjallar_history_/m);
  await server.stop();
});
