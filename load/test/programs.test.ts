import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import '../../test/support/long.js';

const load = fileURLToPath(new URL('../', import.meta.url));
const root = join(load, '../');
/** Its peers take minutes to build, and the network. */
const LEFT_OUT = ['peers/test/foreign.test.js'];

interface Manifest {
  devDependencies: Record<string, string>;
  dependencies?: Record<string, string>;
}
const manifest = (folder: string) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
const shared = () => {
  const own = manifest(load).devDependencies;
  const { dependencies, devDependencies } = manifest(root);
  return Object.entries({ ...dependencies, ...devDependencies }).filter(([name]) => name in own);
};

test('the benchmarks measure the packages that gjallar runs on', () => {
  expect(Object.fromEntries(shared())).toMatchObject({ ws: expect.any(String), express: expect.any(String) });
  // A range of its own would put a second version into load/node_modules, and that would be measured.
  expect(manifest(load).devDependencies).toMatchObject(Object.fromEntries(shared()));
  const fromLoad = createRequire(join(load, 'peers/peer.js'));
  const fromRoot = createRequire(join(root, 'package.json'));
  expect(shared().filter(([name]) => existsSync(join(load, 'node_modules', name)))).toEqual([]);
  for (const name of ['ws', 'socket.io', 'socket.io-client', 'express'])
    expect(fromLoad.resolve(name)).toBe(fromRoot.resolve(name));
});

test('gjallar is installed without what only load/ uses', () => {
  // A workspace's dependencies would be installed in production too; its devDependencies are not.
  expect(manifest(load).dependencies).toBeUndefined();
});

const files = ['against', 'generator', 'harness', 'peers'].flatMap((folder) =>
  readdirSync(join(load, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => `${folder}/${name}`),
);

test('the parts of the benchmarks pass their own tests', () => {
  expect(files).toEqual(
    expect.arrayContaining(['generator/frames.test.js', 'harness/row/many-clients.test.js', ...LEFT_OUT]),
  );
  const chosen = files.filter((file) => !LEFT_OUT.includes(file));
  const args = ['--test', '--test-reporter=tap', ...chosen];
  const options = { cwd: load, encoding: 'utf8', timeout: 100_000 } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, args, options);
  if (status !== 0) throw new Error(stdout + stderr);
  expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1])).toBeGreaterThan(chosen.length);
}, 120_000);
