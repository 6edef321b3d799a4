import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import '../../test/support/long.js';

const root = fileURLToPath(new URL('../../', import.meta.url));

const load = async (file: string) => import(new URL(`../matrix/${file}`, import.meta.url).href);
const { applications } = (await load('applications/index.js')) as {
  applications: Record<string, { isStateless?: boolean }>;
};
const { compare } = (await load('compare.js')) as {
  compare(outcomes: object): { cells: string[]; details: string[]; failures: number };
};

/** Those that need no browser and no further package. */
const names = ['fastify', 'passport-session', 'passport-jwt', 'admin-ui', 'msgpack', 'dies', 'port-taken'];

test('applications give the same on stock socket.io and on gjallar', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['load/matrix.js', '--way', 'register', ...names], {
    cwd: root,
    encoding: 'utf8',
    timeout: 100_000,
  });
  const rows = stdout.split('\n').slice(1, names.length + 1);
  expect(rows).toEqual(names.map((name) => expect.stringMatching(new RegExp(`^${name} +\\d+ values +equal$`))));
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
}, 110_000);

test('a difference, a value that is missing and an application that fails are counted', () => {
  const record = { visit: { status: 200, list: ['a', 'b'] }, printed: [] };
  const stock = { record };
  expect(compare({ stock, register: { record } })).toEqual({ cells: ['3 values', 'equal'], details: [], failures: 0 });
  expect(
    compare({ stock, register: { record: { visit: { status: 500, list: ['a'] }, printed: ['Warning'] } } }),
  ).toEqual({
    cells: ['3 values', 'differs in 3'],
    details: [
      '  register: visit.status: 500 instead of 200',
      '  register: visit.list.1: nothing instead of "b"',
      '  register: printed.0: "Warning" instead of nothing',
    ],
    failures: 1,
  });
  expect(compare({ stock, register: { failed: 'it ended' } })).toMatchObject({
    failures: 1,
    details: ['  register: it ended'],
  });
  expect(compare({ stock: { failed: 'no port' }, register: { record } })).toMatchObject({
    cells: ['failed', 'not compared'],
    failures: 1,
  });
});

test('what keeps state in memory is not run with several workers', () => {
  const stateless = Object.keys(applications).filter((name) => applications[name]!.isStateless);
  expect(stateless).toEqual(expect.arrayContaining(['express-4', 'express-5', 'nest', 'passport-jwt']));
  // Sessions, and what recovery keeps, are in memory.
  for (const name of ['express-session', 'passport-session', 'recovery']) expect(stateless).not.toContain(name);
});
