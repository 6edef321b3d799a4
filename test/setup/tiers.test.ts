import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { jestArguments, matching, parseArguments } from './arguments.mjs';
import { canStartProcesses } from './dependents.mjs';
import { packagesFor, testsByTier } from './tiers.mjs';

const tiers = testsByTier();

test('each test file is in one tier, by what it imports', () => {
  const all = Object.values(tiers).flat();
  expect(new Set(all).size).toBe(all.length);
  expect(tiers).toMatchObject({
    unit: expect.arrayContaining(['test/setup/tiers.test.ts', 'test/io/rooms/room-sets.test.ts']),
    process: expect.arrayContaining(['test/cluster/cluster.test.ts', 'test/setup/environment.test.ts']),
    long: expect.arrayContaining(['test/cluster/lifecycle.test.ts']),
    system: expect.arrayContaining(['test/cluster/emitter/emitter.test.ts', 'test/page/page.test.ts']),
    nightly: expect.arrayContaining(['test/torture/drill.test.ts', 'test/fuzz/fuzz.test.ts']),
  });
});

test('what a plain `npm test` runs needs no other program', () => {
  const needing = [...tiers.unit!, ...tiers.process!, ...tiers.long!].filter((file) => packagesFor(file).length > 0);
  expect(needing).toEqual([]);
});

test('a file that imports only types of processes starts none', () => {
  expect(canStartProcesses('test/support/children.js')).toBe(false);
  expect(canStartProcesses('test/io/rooms/support/node.ts')).toBe(false);
  expect(canStartProcesses('test/support/server.ts')).toBe(true);
});

test('arguments are those of the tiers, paths, or for jest', () => {
  const args = [
    'test/service/chat',
    '--install',
    '--tier=unit',
    '-t',
    'a name',
    '--outputFile=/tmp/x',
    '--verbose',
    '-w',
    '1',
  ];
  expect(parseArguments(args)).toEqual({
    all: false,
    install: true,
    tiers: ['unit'],
    outputFile: '/tmp/x',
    paths: ['test/service/chat'],
    jest: ['-t', 'a name', '--verbose', '-w', '1'],
  });
});

test('a path means all files whose path it is a part of', () => {
  const tests = ['test/service/chat/chat.test.ts', 'test/service/chat/state.test.ts', 'test/base/log.test.ts'];
  expect(matching(tests, ['test/service/chat'])).toEqual(tests.slice(0, 2));
  expect(matching(tests, ['./test/base/log.test.ts', 'state'])).toEqual(tests.slice(1));
  expect(matching(tests, [fileURLToPath(new URL('../base/log.test.ts', import.meta.url))])).toEqual(tests.slice(2));
});

test('jest gets the files that a path means, and no pattern that could fit the folder of the checkout', () => {
  const run = { tier: 'unit', tests: ['load/test/matrix.test.ts'], output: '/tmp/x', workers: 3 };
  const common = ['--selectProjects', 'unit', '--json', '--outputFile', '/tmp/x'];
  expect(jestArguments({ jest: ['-w', '1'], paths: ['load/test'] }, run)).toEqual([
    ...common,
    ...['-w', '1', '--runTestsByPath', '--', 'load/test/matrix.test.ts'],
  ]);
  expect(jestArguments({ jest: [], paths: [] }, run)).toEqual([...common, '--maxWorkers', '3']);
});
