import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { wire } from '../../../../src/cluster/wire-number.js';
import { temporaryFolder } from '../../../support/folder.js';
import { until } from '../../../support/until.js';
import { pathOf, runApp, stopAll } from '../support/application.js';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
let folder: string;

beforeEach(() => {
  folder = temporaryFolder();
  for (const name of ['dist', 'package.json']) cpSync(join(root, name), join(folder, name), { recursive: true });
  // With it, the application uses this copy of gjallar.
  cpSync(pathOf('chat.mjs'), join(folder, 'chat.mjs'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
});
afterEach(async () => {
  await stopAll();
});

/** Installs a build with another number in the place of this one. @returns what puts this one back */
function installOther(): () => void {
  const [file] = readdirSync(join(folder, 'dist'))
    .filter((name) => name.endsWith('.js'))
    .map((name) => join(folder, 'dist', name))
    .filter((name) => readFileSync(name, 'utf8').includes(wire.hash));
  const code = readFileSync(file!, 'utf8');
  const other = code.replace(`number:${wire.number},`, `number:${wire.number + 1},`);
  expect(other).not.toBe(code);
  writeFileSync(file!, other);
  return () => writeFileSync(file!, code);
}

test('a primary neither hands over to workers of a build that it does not understand, nor forks them', async () => {
  const main = join(folder, 'dist/main.js');
  const app = await runApp(join(folder, 'chat.mjs'), { main, env: { WORKERS: '2' } });
  const pids = async () => {
    const { workers } = (await (await fetch(`${app.admin}/api/stats`)).json()) as { workers: { pid: number }[] };
    return workers.map(({ pid }) => pid);
  };
  const before = await pids();
  const putBack = installOther();
  app.process.kill('SIGHUP');
  const { msg } = await app.logged(({ msg }) => msg?.startsWith('reload rejected') ?? false);
  expect(msg).toMatch(/another build; restart the server$/);
  expect(await pids()).toEqual(before);
  process.kill(before[0]!, 'SIGKILL');
  await app.logged(({ msg }) => msg?.startsWith('a worker cannot be replaced') ?? false);
  expect(await pids()).toEqual([before[1]]);
  putBack();
  await until(async () => (await pids()).length === 2);
  app.process.kill('SIGHUP');
  await app.logged(({ msg }) => msg === 'reload finished');
});
