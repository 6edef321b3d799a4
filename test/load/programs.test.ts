import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const load = fileURLToPath(new URL('../../load/', import.meta.url));
/** Its peers take minutes to build, and the network. */
const LEFT_OUT = ['peers/foreign.test.js'];

test('the benchmarks load the packages of this project, and not what artillery brings', () => {
  const peer = createRequire(join(load, 'peers/peer.js'));
  for (const name of ['ws', 'socket.io-client']) {
    expect(peer.resolve(name)).toBe(createRequire(import.meta.url).resolve(name));
  }
  // What is installed where this stands.
  expect(['.', 'artillery'].filter((folder) => existsSync(join(load, folder, 'package.json')))).toEqual(['artillery']);
});

const files = ['generator', 'harness', 'peers'].flatMap((folder) =>
  readdirSync(join(load, folder))
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => `${folder}/${name}`),
);

test('the generators, the harness and the peers of the benchmarks do as their own tests say', async () => {
  expect(files).toEqual(expect.arrayContaining(['generator/frames.test.js', 'harness/crowd.test.js', ...LEFT_OUT]));
  const chosen = files.filter((file) => !LEFT_OUT.includes(file));
  const child = spawn(process.execPath, ['--test', '--test-reporter=tap', ...chosen], {
    cwd: load,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 100_000,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(output);
  const passed = Number(/^# pass (\d+)$/m.exec(output)?.[1]);
  expect(passed).toBeGreaterThan(chosen.length);
}, 120_000);
