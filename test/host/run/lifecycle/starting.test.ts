import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Health } from '../../../../src/host/operations/health.js';
import { own } from '../../../support/children.js';
import { atEnd } from '../../../support/ends.js';
import { temporaryFolder } from '../../../support/folder.js';
import { freePort } from '../../../support/ports.js';
import { readiness } from '../../../support/reports.js';
import { cleanEnvironment, runToEnd } from '../../../support/server.js';
import { RunningService } from '../../../support/service.js';
import { until } from '../../../support/until.js';
import { pathOf, runApp, stopAll } from '../support/application.js';

const main = fileURLToPath(new URL('../../../../dist/main.js', import.meta.url));

test.each([
  ['that ends by itself', 'parts/nothing.mjs', 'has ended without listening on a port; give gjallar run the file that'],
  ['that ends the process', 'parts/exits.mjs', 'ended with exit code 0 before it listened; its output above says why'],
])('an application %s ends the server at once, with one line', async (_what, app, reason) => {
  const { code, stderr } = await runToEnd(['run', pathOf(app)], { WORKERS: '2', LOG_LEVEL: 'silent' });
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^gjallar: the application [^\n]+\n$/) });
  expect(stderr).toContain(reason);
});

test('an application may wait for a state room before it listens, though nothing else keeps its process alive', async () => {
  const application = await runApp('lifecycle/waits-for-room.mjs');
  atEnd(stopAll);
  expect(application.greeting).toContain('with 2 workers');
});

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s before the application listens stops it, and is not called a failure',
  async (signal) => {
    const child = own(
      spawn(process.execPath, [main, 'run', pathOf('lifecycle/slow-start.mjs')], {
        env: { ...cleanEnvironment(), WORKERS: '2' },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    child.stdout.once('data', () => child.kill(signal));
    const [code] = await once(child, 'close');
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
  },
);

test.each([
  ['the chat', []],
  ['an application', ['run', pathOf('lifecycle/slow-start.mjs')]],
])('%s that waits for Redis at its start has the reason in /readyz', async (_what, args) => {
  const REDIS_URL = 'redis://127.0.0.1:1';
  const [ADMIN_PORT, WORKERS] = [`${await freePort()}`, '1'];
  const env = { ...cleanEnvironment(), PORT: '0', ADMIN_PORT, WORKERS, REDIS_URL, GJALLAR_REDIS_URL: REDIS_URL };
  const service = new RunningService({ env, args });
  const started = service.start().catch(() => {});
  await service.logged(({ code }) => code === 'REDIS_UNREACHABLE');
  const { problems } = (await (await fetch(`http://127.0.0.1:${ADMIN_PORT}/readyz`)).json()) as Health;
  expect(problems.map(({ code }) => code)).toEqual(['REDIS_UNREACHABLE', 'WORKERS_STARTING']);
  service.process.kill('SIGKILL');
  await started;
});

test('workers that replace others and do not listen make the server degraded until they do', async () => {
  const DATABASE = join(temporaryFolder(), 'database');
  writeFileSync(DATABASE, '');
  const args = ['--require', pathOf('lifecycle/impatient.cjs')];
  const app = await runApp('lifecycle/database.mjs', { args, env: { WORKERS: '1', DATABASE } });
  atEnd(stopAll);
  const codes = async () => (await readiness(app.admin)).problems;
  expect(await codes()).toEqual([]);
  rmSync(DATABASE);
  process.kill(Number(app.output.find((line) => line.startsWith('listens: '))!.split(' ')[1]), 'SIGKILL');
  await app.logged(({ code }) => code === 'NOT_LISTENING');
  await until(async () => !(await codes()).join().includes('not running'));
  expect(await codes()).toEqual(['the application listens on no port']);
  writeFileSync(DATABASE, '');
  await until(async () => (await codes()).length === 0);
  await until(() => app.output.filter((line) => line.startsWith('listens: ')).length === 2);
});

describe('while the second worker starts,', () => {
  let service: RunningService;
  let started: Promise<unknown>;
  let status: () => Promise<number>;
  let problems: () => Promise<object[]>;
  beforeEach(async () => {
    const port = await freePort();
    service = new RunningService({
      env: { ...cleanEnvironment(), WORKERS: '2', ADMIN_PORT: `${port}` },
      args: ['run', pathOf('lifecycle/early.mjs')],
      hasChannel: true,
    });
    started = service.start();
    // A test may expect it to fail.
    started.catch(() => {});
    problems = async () => (await (await fetch(`http://127.0.0.1:${port}/readyz`)).json()).problems;
    status = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status;
    await Promise.all([service.said(/worker 1 listens/), service.said(/worker 2 waits/)]);
  });
  afterEach(() => service.stop());
  const died = (worker: number) => service.logged((line) => line.code === 'WORKERS_MISSING' && line.worker === worker);

  test('the server is not ready, and the first one is replaced like any other when it ends', async () => {
    service.process.send('throw 1');
    await died(1);
    await service.said(/worker 3 listens/);
    service.process.send('throw 3');
    expect(await died(3)).toMatchObject({ delay: 100 });
    await service.said(/worker 4 listens/);
    expect([await status(), service.greeting]).toEqual([503, '']);
    expect(await problems()).toEqual([
      expect.objectContaining({ code: 'WORKERS_STARTING', text: '1 of 2 workers is still starting' }),
    ]);
    service.process.send('listen 2');
    await started;
    expect([await status(), service.greeting]).toEqual([200, expect.stringContaining('with 2 workers')]);
  });

  test('the start fails if it ends, although the first one listens', async () => {
    service.process.send('throw 2');
    await expect(started).rejects.toThrow('the application ended with exit code 1 before it listened');
  });
});
