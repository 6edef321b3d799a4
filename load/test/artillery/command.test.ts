import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { freePort } from '../../../test/support/ports.js';
import { cleanEnvironment } from '../../../test/support/server.js';
import { readArguments } from '../../artillery/command/arguments.js';

const load = fileURLToPath(new URL('../../load.js', import.meta.url));

/** Runs the command until it ends. */
async function run(args: string[], environment: Record<string, string> = {}) {
  const env = { ...cleanEnvironment(), ...environment };
  // None of these may get as far as to run anything.
  const child = spawn(process.execPath, [load, ...args], { env, stdio: 'pipe', timeout: 20_000 });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    output.stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output.stderr += chunk;
  });
  const [code] = await once(child, 'close');
  return { code, ...output };
}

test.each<[string[], string]>([
  [['chat', 'chess', 'toString'], 'unknown scenario: chess, toString'],
  [['--fast'], "Unknown option '--fast'"],
  [['--quick=yes'], "Option '--quick' does not take an argument"],
])('%j is refused', (args, message) => {
  expect(() => readArguments({}, args)).toThrow(message);
});

test.each(['localhost:3000', 'nonsense', 'ftp://chat', 'http://chat/room', 'http://u:p@chat', 'http://chat/?a'])(
  'TARGET=%s is refused',
  (TARGET) => {
    const message = `TARGET=${TARGET} is not the address of a server, such as https://chat.example.com`;
    expect(() => readArguments({ TARGET }, ['chat'])).toThrow(message);
  },
);

test('all scenarios are the default, and each runs once', () => {
  const names = ['broadcast', 'chat', 'reconnect'];
  expect(readArguments({}, [])).toEqual({ names, quick: false, help: false, target: undefined });
  const target = 'https://chat.example.com';
  expect(readArguments({ TARGET: `${target}/` }, ['reconnect', '--quick', 'chat', 'reconnect'])).toEqual({
    names: ['reconnect', 'chat'],
    quick: true,
    help: false,
    target,
  });
});

test('a target where nobody listens is told from one that is another server', async () => {
  const nobody = `http://127.0.0.1:${await freePort()}`;
  const silent = await run([], { TARGET: nobody });
  expect(silent).toMatchObject({ code: 3, stdout: '' });
  expect(silent.stderr).toMatch(/^load: TARGET=http:\/\/127\.0\.0\.1:\d+ does not answer: .*ECONNREFUSED.*\n$/);

  const other = createServer((_, res) => res.end('ok')).listen(0, '127.0.0.1');
  await once(other, 'listening');
  try {
    const TARGET = `http://127.0.0.1:${(other.address() as { port: number }).port}`;
    const stderr = `load: TARGET=${TARGET} is no gjallar: its /readyz is another's\n`;
    expect(await run([], { TARGET })).toEqual({ code: 3, stdout: '', stderr });
  } finally {
    other.close();
  }
});
