import { spawnSync } from 'node:child_process';
import { cp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, jest, test } from '@jest/globals';
import { attempt, type BackgroundFailure, failures, own, owned, raise } from '../../src/base/owner.js';
import { Outbox } from '../../src/engine/delivery/outbox.js';
import { temporaryFolder } from '../support/folder.js';
import { until } from '../support/until.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

function heardFailures(): BackgroundFailure[] {
  const heard: BackgroundFailure[] = [];
  const listener = (failure: unknown) => heard.push(failure as BackgroundFailure);
  failures.subscribe(listener);
  closers.push(() => failures.unsubscribe(listener));
  return heard;
}

test('what nothing waits for is reported when it fails', async () => {
  const heard = heardFailures();
  const error = new Error('no');
  own('one', Promise.reject(error));
  own('none', Promise.resolve());
  owned('two', (value: unknown) => Promise.reject(value))(error);
  owned('three', (value: unknown) => {
    throw value;
  })(error);
  attempt('none', () => 1);
  await until(() => heard.length === 3);
  expect(heard.map(({ work }) => work).sort()).toEqual(['one', 'three', 'two']);
  for (const failure of heard) expect(failure.error).toBe(error);
});

test('without a subscriber, a failure is a warning, one in ten seconds for each kind of work', () => {
  // In a process of its own: other test files of this one may have left a subscriber.
  const script = `
    const { attempt } = await import('./build/base/owner.js');
    for (let count = 0; count < 3; count++) attempt('looking', () => JSON.parse('{'));
    attempt('listening', () => JSON.parse('{'));
  `;
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(stderr.match(/gjallar: \w+ failed: \w+/g)).toEqual([
    'gjallar: looking failed: SyntaxError',
    'gjallar: listening failed: SyntaxError',
  ]);
});

test('a message that cannot be sent keeps none of the others back', () => {
  const heard = heardFailures();
  const sent: unknown[] = [];
  const publish = (_topic: string, message: unknown) => {
    if (message === 'bad') throw new TypeError('not for sockets');
    return sent.push(message) > 0;
  };
  const outbox = new Outbox({ publish, numSubscribers: () => 1 } as never, 25);
  const hold = outbox.share(() => {
    throw new Error('another part');
  });
  outbox.publish('room', 'first', false, false);
  hold();
  outbox.publish('room', 'bad', false, false);
  outbox.publish('room', 'last', false, false);
  outbox.flush();
  expect(sent).toEqual(['first', 'last']);
  expect(heard.map(({ error }) => (error as Error).message)).toEqual(['another part', 'not for sockets']);
});

test('what a listener of the application throws reaches uncaughtException', () => {
  const microtask = jest.spyOn(globalThis, 'queueMicrotask').mockImplementation((act) => expect(act).toThrow('theirs'));
  closers.push(() => microtask.mockRestore());
  raise(new Error('theirs'));
  expect(microtask).toHaveBeenCalledTimes(1);
});

/** The lint rule takes a promise behind `void` for owned. */
test('no promise of src is dropped, nor behind void', async () => {
  const folder = temporaryFolder();
  await cp(join(root, 'src'), join(folder, 'src'), { recursive: true });
  for (const name of ['package.json', 'tsconfig.json']) await cp(join(root, name), join(folder, name));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const rules = { preset: 'none', nursery: { noFloatingPromises: 'error' } };
  await writeFile(join(folder, 'biome.json'), JSON.stringify({ linter: { rules } }));
  for (const name of await readdir(join(folder, 'src'), { recursive: true })) {
    if (!name.endsWith('.ts')) continue;
    const path = join(folder, 'src', name);
    const text = await readFile(path, 'utf8');
    await writeFile(
      path,
      text.replace(/(^\s*|=> |\) |else |; )void (?=[\w(])/gm, '$1').replace(/return void /g, 'return '),
    );
  }
  await writeFile(join(folder, 'src', 'dropped.ts'), 'async function work(): Promise<void> {}\nwork();\n');
  const biome = join(root, 'node_modules/.bin/biome');
  const { stdout } = spawnSync(biome, ['lint', '--reporter=github', 'src'], { cwd: folder, encoding: 'utf8' });
  const found = [...stdout.matchAll(/noFloatingPromises,file=.*?(src\/[^,]*),line=(\d+)/g)];
  expect(found.map(([, file, line]) => `${file}:${line}`)).toEqual(['src/dropped.ts:2']);
}, 60_000);
