import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { freePort } from '../../../support/ports.js';
import { isAlive, untilGone } from '../../../support/process.js';
import { readinessOf } from '../../../support/reports.js';
import { until } from '../../../support/until.js';
import { type RunningApplication, runApp, stopAll } from '../support/application.js';
import { connect, leaveAll, namesOf } from '../support/members.js';
import '../../../support/long.js';
import { temporaryFolder } from '../../../support/folder.js';

let directory: string;
let app: RunningApplication;

afterEach(leaveAll);

async function stop(): Promise<void> {
  await stopAll();
}

/** Installs a release, which workers run from then on. */
function install(name: string, end?: 'soon' | 'hangs', ports?: { port: number; later?: number }): void {
  writeFileSync(join(directory, 'release'), JSON.stringify({ name, end, ...ports }));
}

/** Lets the worker of a release that hangs go on. */
function goOn(name: string): void {
  writeFileSync(join(directory, `${name}-goes-on`), '');
}

async function start(env: Record<string, string>, port = 0): Promise<void> {
  directory = temporaryFolder();
  install('old', undefined, { port });
  app = await runApp('lifecycle/release.mjs', {
    env: { RELEASE: join(directory, 'release'), DRAIN_TIMEOUT: '200ms', ...env },
  });
}

/** The process ids of the workers of a release, once there are so many. */
async function pidsOf(release: string, count = 2): Promise<number[]> {
  const found = () => app.output.filter((line) => line.startsWith(`${release} listens: `));
  await until(() => found().length === count);
  return found().map((line) => Number(line.split(': ')[1]));
}

/** What the admin port says of the workers that run. */
async function readState() {
  const [stats, ready] = await Promise.all(
    ['/api/stats', '/readyz'].map(async (path) => (await fetch(app.admin + path)).json()),
  );
  const { workers } = stats as { workers: { pid: number }[] };
  const { state, problems, warnings } = readinessOf(ready);
  return { pids: workers.map(({ pid }) => pid).sort(), state, problems, warnings };
}

/** The process ids of the workers in the order in which a reload replaces them: by their ids. */
async function pidsInOrder(): Promise<number[]> {
  const { workers } = (await (await fetch(`${app.admin}/api/stats`)).json()) as {
    workers: { id: number; pid: number }[];
  };
  return workers.sort((one, other) => one.id - other.id).map(({ pid }) => pid);
}

const ABORTED = 'the last reload was aborted, and the old workers stay; the log of the primary says why';

/** Starts a reload. Resolves with the lines of the log that tell how it goes on. */
function reload() {
  const start = new Date().toISOString();
  const logged = (fits: (msg: string) => boolean) =>
    app.logged(({ msg = '', time }) => String(time) >= start && fits(msg));
  app.process.kill('SIGHUP');
  return {
    aborted: () => logged((msg) => msg.startsWith('reload aborted: ')),
    finished: () => logged((msg) => msg === 'reload finished'),
    hasLostWorker: () => logged((msg) => msg === 'a worker died during a reload'),
  };
}

/** Installs a release that dies, and expects that the old workers stay. */
async function expectNoneReplaced(workers: number): Promise<void> {
  const old = (await pidsOf('old', workers)).sort();
  const members = await connect(app, namesOf('member', 10));
  install('bad', 'soon');
  const { msg } = await reload().aborted();
  expect(msg).toMatch(/^reload aborted: new worker \d ended with exit code 7 \d+ ms after it had listened\. The old/);
  let state = await readState();
  await until(async () => {
    state = await readState();
    return state.pids.length === workers && state.state === 'ready' && state.warnings.length === 1;
  });
  expect(state).toEqual({ pids: old, state: 'ready', problems: [], warnings: [ABORTED] });
  expect(members.map(({ disconnects }) => disconnects)).toEqual(members.map(() => 0));
  expect(await (await fetch(`${app.admin}/metrics`)).text()).toContain('gjallar_reloads_total{outcome="aborted"} 1');
  // The corrected release replaces them.
  install('good');
  expect(await (await fetch(app.url)).text()).toBe('old');
}

/**
 * Aborts a reload in which an old worker dies. In the place of the first, a new worker stays. The second is replaced, as
 * the new one in its place has died like it.
 */
async function expectSuccessor(dead: 0 | 1): Promise<void> {
  const old = await pidsInOrder();
  const release = `worse${dead}`;
  install(release);
  const { aborted, hasLostWorker } = reload();
  const [first, second] = await pidsOf(release);
  process.kill(old[dead]!, 'SIGKILL');
  await hasLostWorker();
  app.process.send({ end: second });
  await aborted();
  const kept = [old[1 - dead]!, dead === 0 ? first! : (await pidsOf(release, 3))[2]!];
  await until(async () => (await readState()).pids.join() === kept.sort().join());
}

/** Stops the application during a reload: the workers of both releases end. */
async function expectStopEndsAll(): Promise<void> {
  const { pids: old } = await readState();
  expect(old.map(isAlive)).toEqual([true, true]);
  install('good');
  reload();
  const good = await pidsOf('good');
  expect(await app.stop()).toBe(0);
  await Promise.all([...old, ...good].map(untilGone));
}

describe('while RELOAD_SETTLE lasts', () => {
  beforeAll(() => start({ RELOAD_SETTLE: '1h' }));
  afterAll(stop);

  // In this time no reload ends, so that nothing brings the old workers back for another test.
  test('releases that die replace no worker, those who died meanwhile have a successor, and a stop ends all', async () => {
    await expectNoneReplaced(2);
    await expectSuccessor(0);
    await expectSuccessor(1);
    await expectStopEndsAll();
  });
});

describe('when RELOAD_SETTLE is over', () => {
  beforeAll(() => start({ RELOAD_SETTLE: '500ms' }));
  afterAll(stop);

  test('a corrected release replaces the workers that an aborted reload has kept, and the warning ends', async () => {
    install('bad', 'soon');
    await reload().aborted();
    install('good');
    expect(await reload().finished()).toMatchObject({ replaced: 2, workers: 2 });
    const good = (await pidsOf('good')).sort();
    expect(await readState()).toEqual({ pids: good, state: 'ready', problems: [], warnings: [] });
  });

  test('a new worker that does not answer when RELOAD_SETTLE is over replaces none until it does', async () => {
    const old = await pidsInOrder();
    install('better', 'hangs');
    const { finished } = reload();
    const better = await pidsOf('better');
    // The admin port waits for its answer for 2 s.
    await until(async () => /^worker \d+ does not respond$/.test((await readState()).problems.join()));
    expect(old.map(isAlive)).toEqual([true, true]);
    goOn('better');
    await finished();
    expect((await readState()).pids).toEqual(better.sort());
  });

  test('an old worker that dies while new ones prove themselves has its successor', async () => {
    const [first, second] = await pidsInOrder();
    install('best', 'hangs');
    const { finished, hasLostWorker } = reload();
    const best = (await pidsOf('best')).sort();
    process.kill(second!, 'SIGKILL');
    await hasLostWorker();
    expect(isAlive(first!)).toBe(true);
    goOn('best');
    expect(await finished()).toMatchObject({ replaced: 2, workers: 2 });
    expect((await readState()).pids).toEqual(best);
  });
});

describe('a release that listens on another port', () => {
  beforeAll(async () => start({ RELOAD_SETTLE: '0' }, await freePort()));
  afterAll(stop);

  test('replaces the old workers once it listens on theirs too, and none without', async () => {
    const other = await freePort();
    const old = (await pidsOf('old')).sort();
    install('elsewhere', undefined, { port: other });
    const { msg } = await reload().aborted();
    expect(msg).toMatch(
      new RegExp(
        `^reload aborted: new worker \\d does not listen on port ${app.port}, unlike the old workers\\. The old`,
      ),
    );
    await until(async () => (await readState()).pids.length === 2);
    expect(await readState()).toEqual({ pids: old, state: 'ready', problems: [], warnings: [ABORTED] });
    expect(await (await fetch(app.url)).text()).toBe('old');
    install('both', undefined, { port: other, later: app.port });
    expect(await reload().finished()).toMatchObject({ replaced: 2, workers: 2 });
    expect(await (await fetch(app.url)).text()).toBe('both');
  });
});
