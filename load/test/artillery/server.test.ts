import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { untilGone } from '../../../test/support/process.js';
import { cleanEnvironment } from '../../../test/support/server.js';
import { until } from '../../../test/support/until.js';
import { checkTarget, startServer } from '../../artillery/command/server.js';
import { cpuShare, readCpu, readMachine } from '../../harness/process/machine.js';
import { familyOf } from '../../harness/process/processes.js';

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
  await untilGone(server.process.pid!);
  await expect(checkTarget(server.url)).rejects.toThrow(`TARGET=${server.url} does not answer`);
  expect(readFileSync(log, 'utf8')).toContain(`gjallar listens on ${server.url} with 1 worker on the embedded bus"`);
  expect(readdirSync(folder)).toEqual(['server.log']);
});

test('a server that cannot start says why', async () => {
  const env = { ...cleanEnvironment(), TMPDIR: folder, WORKERS: 'many' };
  await expect(startServer(join(folder, 'failed.log'), env)).rejects.toThrow(
    'the server ended with 1: gjallar: WORKERS must be',
  );
});

test('the CPU time of a server is that of its workers too', async () => {
  const worker = 'console.log("busy"); setInterval(() => { for (let i = 0; i < 1e6; i++); }, 0)';
  const primary = `require('child_process').spawn(process.execPath, ['-e', '${worker}'], { stdio: 'inherit' })`;
  const child = spawn(process.execPath, ['-e', primary], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  await once(child.stdout, 'data');
  try {
    const look = () => readCpu(familyOf(child.pid!));
    const before = look();
    // The kernel does not tell when it has counted. The primary itself waits: without its worker this has no end.
    await until(() => cpuShare(before, look()) > 0.02);
  } finally {
    process.kill(-child.pid!, 'SIGKILL');
  }
});

test('stolen time is told from what programs used, and waiting is neither', () => {
  // user nice system idle iowait irq softirq steal, in hundredths of a second
  const text = 'cpu  100 10 50 9999 888 5 15 30 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n';
  expect(readMachine(text)).toEqual({ used: 1_800_000, stolen: 300_000 });
});

test('a system without /proc/stat tells nothing', () => {
  expect(readMachine('').used).toBeNaN();
});
