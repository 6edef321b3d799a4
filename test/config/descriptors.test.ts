import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { descriptorLimit } from '../../src/config/limits.js';
import { maxDescriptors, openDescriptors } from '../../src/descriptors.js';
import { endWithFile } from '../support/children.js';
import { cleanEnvironment, type LogLine } from '../support/server.js';

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

test('open descriptors are counted', () => {
  const before = openDescriptors()!;
  const opened = Array.from({ length: 50 }, () => openSync('/dev/null', 'r'));
  expect(openDescriptors()! - before).toBeGreaterThanOrEqual(45);
  for (const descriptor of opened) closeSync(descriptor);
  expect(openDescriptors()!).toBeLessThan(maxDescriptors()!);
});

test.each([
  ['1,024 descriptors on a machine with 8 GiB', 1024, 2 ** 33, true],
  ['65,536 descriptors on a large machine', 65_536, 2 ** 40, false],
  ['10,000 descriptors in a container with 256 MiB', 10_000, 2 ** 28, false],
])('%s: low is %p', (_what, max, memory, isLow) => {
  expect(descriptorLimit(2, max, memory)).toMatchObject({ max, isLow });
});

test('the start warns of a limit that is low for the machine, and the metrics have it', async () => {
  const env = { ...cleanEnvironment(), HOST: '127.0.0.1', PORT: '0', WORKERS: '1', HISTORY_TTL: '0' };
  const child = endWithFile(
    spawn('prlimit', ['--nofile=700:700', process.execPath, main], { env, stdio: ['ignore', 'pipe', 'inherit'] }),
    'SIGTERM',
  );
  const lines: LogLine[] = [];
  let url = '';
  for await (const text of createInterface(child.stdout)) {
    const line = JSON.parse(text) as LogLine;
    lines.push(line);
    if (line.url) url = line.url as string;
    if (url && line.level === 'warn') break;
  }
  expect(lines.at(-1)).toMatchObject({
    max: 700,
    msg: expect.stringMatching(/^the limit of open files is low for the memory of this machine/),
  });
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toMatch(/^process_max_fds\{worker="1"\} 700$/m);
  expect(Number(/^process_open_fds\{worker="1"\} (\d+)$/m.exec(metrics)![1])).toBeGreaterThan(5);
  child.kill('SIGTERM');
  await once(child, 'exit');
});
