import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from '@jest/globals';

interface Results {
  testResults: { name: string; message: string; assertionResults: { title: string; status: string }[] }[];
}

const root = fileURLToPath(new URL('../../', import.meta.url));
let files: Results['testResults'];

/** Runs fixtures as files of a tier. They fail. */
async function run(tier: string, ...fixtures: string[]): Promise<Results['testResults']> {
  const jest = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--json', '--runInBand'];
  const match = fixtures.flatMap((fixture) => ['--testMatch', `**/test/setup/fixtures/${fixture}.fixture.ts`]);
  const child = spawn(process.execPath, [...jest, '--selectProjects', tier, ...match], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'ignore'],
    // It has to end by itself, whatever the fixtures leave running.
    timeout: 80_000,
  });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  expect(await once(child, 'close')).toEqual([1, null]);
  return (JSON.parse(output) as Results).testResults;
}

beforeAll(async () => {
  files = (await Promise.all([run('process', 'broken', 'leaving'), run('unit', 'starting')])).flat();
});

const resultOf = (fixture: string) => files.find(({ name }) => name.endsWith(`/${fixture}.fixture.ts`))!;

test('a set-up that fails is reported once, its tests are skipped, and its processes end', () => {
  const { assertionResults, message } = resultOf('broken');
  expect(assertionResults.map(({ title, status }) => [title, status])).toEqual([
    ['first', 'pending'],
    ['second', 'pending'],
    ['third', 'pending'],
    ['fourth', 'passed'],
  ]);
  expect(message.match(/● .*\s+.*/g)).toEqual([expect.stringContaining('no such program')]);
});

test('a file that leaves a process behind fails, and jest ends all the same', () => {
  const { message } = resultOf('leaving');
  expect(message).toMatch(/The tests left processes running, which were killed: .*node \(\d+\)/);
});

test('a file of the tier "unit" that starts a process fails', () => {
  const { assertionResults, message } = resultOf('starting');
  expect(assertionResults.map(({ status }) => status)).toEqual(['passed', 'passed']);
  expect(message.match(/This test is in the tier "unit", but starts a process: \S*node\./g)).toHaveLength(2);
});
