import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { untilGone } from '../../../test/support/process.js';
import { cleanEnvironment } from '../../../test/support/server.js';
import { until } from '../../../test/support/until.js';

const command = new URL('../../artillery/command/', import.meta.url);
const { startServer, checkTarget } = (await import(new URL('server.js', command).href)) as {
  startServer(
    logFile: string,
    environment: Record<string, string>,
  ): Promise<{ url: string; pid: number; stop(): Promise<void> }>;
  checkTarget(url: string): Promise<void>;
};
const { CpuWatch } = (await import(new URL('cpu.js', command).href)) as {
  CpuWatch: new (pid: number) => { stop(): void; share(from: number, to: number): number };
};

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gjallar-test-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test('the command starts a server of its own, and leaves nothing of it', async () => {
  const log = join(folder, 'server.log');
  const env = { ...cleanEnvironment(), TMPDIR: folder, WORKERS: '1', JWT_SECRET: 'a'.repeat(32), TLS_KEY: 'missing' };
  const server = await startServer(log, env);
  await checkTarget(server.url);
  expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);

  await server.stop();
  await untilGone(server.pid);
  await expect(checkTarget(server.url)).rejects.toThrow(`TARGET=${server.url} does not answer`);
  expect(readFileSync(log, 'utf8')).toContain(`gjallar listens on ${server.url} with 1 worker on the embedded bus"`);
  expect(readdirSync(folder)).toEqual(['server.log']);
});

test('a server that cannot start says why', async () => {
  const env = { ...cleanEnvironment(), TMPDIR: folder, WORKERS: 'many' };
  await expect(startServer(join(folder, 'failed.log'), env)).rejects.toThrow(
    'the server did not start: gjallar: WORKERS must be',
  );
});

test('the CPU time of a server is that of its workers too', async () => {
  const worker = 'console.log("busy"); setInterval(() => { for (let i = 0; i < 1e6; i++); }, 0)';
  const primary = `require('child_process').spawn(process.execPath, ['-e', '${worker}'], { stdio: 'inherit' })`;
  const child = spawn(process.execPath, ['-e', primary], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  await once(child.stdout, 'data');
  const watch = new CpuWatch(child.pid!);
  try {
    const began = Date.now();
    // The kernel does not tell when it has counted. The primary itself waits: without its worker this has no end.
    await until(() => watch.share(began, Date.now()) > 0.02);
    expect(watch.share(Date.now() + 1000, Date.now() + 2000)).toBeNaN();
  } finally {
    watch.stop();
    process.kill(-child.pid!, 'SIGKILL');
  }
});
