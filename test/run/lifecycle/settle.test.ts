import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { isAlive, untilGone } from '../../support/process.js';
import { until } from '../../support/until.js';
import { type RunningApplication, runApp, stopAll } from '../support/application.js';
import { connect, leaveAll, namesOf } from '../support/handover.js';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'gjallar-settle-'));
});

afterEach(async () => {
  leaveAll();
  await stopAll();
  rmSync(directory, { recursive: true, force: true });
});

/** Installs a release, which workers run from then on. */
function install(name: string, end?: 'soon' | 'hangs'): void {
  writeFileSync(join(directory, 'release'), JSON.stringify({ name, end }));
}

/** Lets the last worker of a release that hangs go on. */
function goOn(): void {
  writeFileSync(join(directory, 'release-goes-on'), '');
}

function start(env: Record<string, string>): Promise<RunningApplication> {
  install('old');
  return runApp('release.mjs', { env: { RELEASE: join(directory, 'release'), DRAIN_TIMEOUT: '200ms', ...env } });
}

/** The process ids of the workers of a release, once there are so many. */
async function pidsOf({ output }: RunningApplication, release: string, count = 2): Promise<number[]> {
  const found = () => output.filter((line) => line.startsWith(`${release} listens: `));
  await until(() => found().length === count);
  return found().map((line) => Number(line.split(': ')[1]));
}

/** What the admin port says of the workers that run. */
async function stateOf({ admin }: RunningApplication) {
  const [stats, ready] = await Promise.all(
    ['/api/stats', '/readyz'].map(async (path) => (await fetch(admin + path)).json()),
  );
  const { workers } = stats as { workers: { pid: number }[] };
  const { state, problems, warnings } = ready as { state: string; problems: string[]; warnings: string[] };
  return { pids: workers.map(({ pid }) => pid).sort(), state, problems, warnings };
}

const ABORTED = 'the last reload was aborted, and the old workers stay; the log of the primary says why';
const aborted = (app: RunningApplication) => app.logged(({ msg }) => msg?.startsWith('reload aborted: ') ?? false);
const finished = (app: RunningApplication) => app.logged(({ msg }) => msg === 'reload finished');

test.each([['0'], ['1h']])(
  'a release that dies after it listens replaces no worker, with RELOAD_HOLD=%s',
  async (hold) => {
    const app = await start({ RELOAD_HOLD: hold, RELOAD_SETTLE: '1h' });
    const old = (await pidsOf(app, 'old')).sort();
    const members = await connect(app, namesOf('member', 10));
    install('bad', 'soon');
    app.process.kill('SIGHUP');
    const { msg } = await aborted(app);
    expect(msg).toMatch(/^reload aborted: new worker \d ended with exit code 7 \d+ ms after it had listened\. The old/);
    let state = await stateOf(app);
    await until(async () => {
      state = await stateOf(app);
      return state.pids.length === 2 && state.state === 'ready' && state.warnings.length === 1;
    });
    expect(state).toEqual({ pids: old, state: 'ready', problems: [], warnings: [ABORTED] });
    expect(members.map(({ disconnects }) => disconnects)).toEqual(members.map(() => 0));
    expect(await (await fetch(`${app.admin}/metrics`)).text()).toContain('gjallar_reloads_total{outcome="aborted"} 1');
    // The corrected release replaces them.
    install('good');
    expect(await (await fetch(app.url)).text()).toBe('old');
  },
);

test('a corrected release replaces the workers that an aborted reload has kept, and the warning ends', async () => {
  const app = await start({ RELOAD_SETTLE: '100ms' });
  install('bad', 'soon');
  app.process.kill('SIGHUP');
  await aborted(app);
  install('good');
  app.process.kill('SIGHUP');
  expect(await finished(app)).toMatchObject({ replaced: 2, workers: 2 });
  const good = (await pidsOf(app, 'good')).sort();
  expect(await stateOf(app)).toEqual({ pids: good, state: 'ready', problems: [], warnings: [] });
});

test('an old worker that dies while new ones prove themselves has its successor', async () => {
  const app = await start({ RELOAD_SETTLE: '1s' });
  const [first, second] = await pidsOf(app, 'old');
  install('good', 'hangs');
  app.process.kill('SIGHUP');
  const good = (await pidsOf(app, 'good')).sort();
  process.kill(second!, 'SIGKILL');
  await app.logged(({ msg }) => msg === 'a worker died during a reload');
  expect(isAlive(first!)).toBe(true);
  goOn();
  expect(await finished(app)).toMatchObject({ replaced: 2, workers: 2 });
  expect((await stateOf(app)).pids).toEqual(good);
});

test('an aborted reload leaves as many workers as before, though an old one has died meanwhile', async () => {
  const app = await start({ RELOAD_SETTLE: '1h' });
  const old = await pidsOf(app, 'old');
  install('bad');
  app.process.kill('SIGHUP');
  const bad = await pidsOf(app, 'bad');
  process.kill(old[0]!, 'SIGKILL');
  await app.logged(({ msg }) => msg === 'a worker died during a reload');
  app.process.send({ end: bad[1] });
  await aborted(app);
  await until(async () => (await stateOf(app)).pids.length === 2);
  const { pids } = await stateOf(app);
  expect(pids).toContain(old[1]);
  expect(pids).not.toContain(bad[1]);
});

test('a stop ends the workers of both releases', async () => {
  const app = await start({ RELOAD_SETTLE: '1h' });
  const old = await pidsOf(app, 'old');
  install('good');
  app.process.kill('SIGHUP');
  const good = await pidsOf(app, 'good');
  expect(await app.stop()).toBe(0);
  await Promise.all([...old, ...good].map(untilGone));
});

test('a new worker that does not answer when RELOAD_SETTLE is over replaces none until it does', async () => {
  const app = await start({ RELOAD_SETTLE: '100ms' });
  const old = await pidsOf(app, 'old');
  install('good', 'hangs');
  app.process.kill('SIGHUP');
  const good = await pidsOf(app, 'good');
  // The admin port waits for its answer for 2 s.
  await until(async () => (await stateOf(app)).problems.join() === 'worker 4 does not respond');
  expect(old.map(isAlive)).toEqual([true, true]);
  goOn();
  await finished(app);
  expect((await stateOf(app)).pids).toEqual(good.sort());
});
