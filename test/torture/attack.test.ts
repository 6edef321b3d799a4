import { expect, test } from '@jest/globals';
import { torture } from './support/run.js';

const run = (...args: string[]) => torture('attack', ...args);

test('the probes of an attack see a quiet server answer, and no worker die', async () => {
  const { output } = await run('--only', 'control', '--limits', 'default', '--seconds', '1');
  const line = output.split('\n').find((one) => one.startsWith('{"attack"'));
  if (!line) throw new Error(output);
  const { server, others } = JSON.parse(line) as {
    server: { deaths: number; cpu: number };
    others: { lost: number; answered: number[] };
  };
  expect(server.deaths).toBe(0);
  expect(server.cpu).toBeGreaterThan(0);
  expect(others.lost).toBe(0);
  expect(others.answered).toHaveLength(2);
  for (const answered of others.answered) expect(answered).toBeGreaterThan(5);
});

test('--help and --list run nothing', async () => {
  expect(await run('--help')).toMatchObject({ code: 0, output: expect.stringContaining('--only') });
  const { code, output } = await run('--list', '--only', 'who is');
  expect(code).toBe(0);
  expect(output.split('\n')[0]).toMatch(/^posts: who is in a room/);
});

test('--sockets chooses the sockets of the servers under attack', async () => {
  const args = ['--only', 'control', '--limits', 'default', '--seconds', '0.2'];
  const { output } = await run(...args, '--sockets', 'portable');
  expect(output).toMatch(/^\| control +\| default +\| portable +\|/m);
  expect(await run(...args, '--sockets', 'raw')).toMatchObject({
    code: 2,
    output: expect.stringContaining('--sockets must be native or portable, not "raw"'),
  });
});

test('an attack that is not there is an error', async () => {
  expect(await run('--only', 'no such attack')).toMatchObject({ code: 1 });
});
