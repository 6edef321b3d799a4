import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import '../support/long.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const FIXTURE = 'test/setup/fixtures/flaky.fixture.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gjallar-flaky-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

interface Outcome {
  code: number;
  passed: number;
  failed: number;
  flaky: number;
  report: string;
}

const node = (args: string[], env: Record<string, string>): Promise<number> =>
  new Promise((resolve) => {
    const child = execFile(process.execPath, args, { cwd: root, env: { ...process.env, ...env } }, () =>
      resolve(child.exitCode ?? -1),
    );
  });

/** Runs the fixture, and then what failed of it once more. */
async function runTwice(environment: Record<string, string>): Promise<Outcome> {
  const results = join(folder, 'results.json');
  const env = { FLAKY_MARK: join(folder, 'mark'), CI_BASE: 'HEAD', ...environment };
  const jest = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--runInBand', '--json'];
  const fixture = ['--selectProjects', 'unit', '--testMatch', `**/${FIXTURE}`];
  await node([...jest, '--outputFile', results, ...fixture], env);
  const code = await node(['.ci/rerun.mjs', results], env);
  return { code, ...(JSON.parse(readFileSync(results, 'utf8')) as Omit<Outcome, 'code'>) };
}

test('a test that passes alone, in a process of its own, is flaky, and named with its message', async () => {
  const { report, ...counts } = await runTwice({});
  expect(counts).toEqual({ code: 0, passed: 3, failed: 0, flaky: 1 });
  expect(report).toMatch(new RegExp(`^FLAKY ${FIXTURE} › fails \\(once\\)\n {4}Error: expect\\(received\\).toBe`));
});

test('one that fails again is a failure, and so is the run', async () => {
  const { report, ...counts } = await runTwice({ FAILS_ALWAYS: '1' });
  expect(counts).toEqual({ code: 1, passed: 2, failed: 1, flaky: 1 });
  expect(report).toMatch(new RegExp(`^FAILED TWICE ${FIXTURE} › fails always$`, 'm'));
});

test('more than three that are flaky are failures', async () => {
  const { report, ...counts } = await runTwice({ FLAKY_COUNT: '4' });
  expect(counts).toEqual({ code: 1, passed: 2, failed: 4, flaky: 4 });
  expect(report).toMatch(/^More than 3 tests are flaky\.$/m);
});

test('a flaky one that the change touches is a failure', async () => {
  // Every file differs from the empty tree.
  const { report, ...counts } = await runTwice({ CI_BASE: '4b825dc642cb6eb9a060e54bf8d69288fbee4904' });
  expect(counts).toEqual({ code: 1, passed: 2, failed: 1, flaky: 1 });
  expect(report).toMatch(new RegExp(`^The change touches this flaky test: ${FIXTURE}`, 'm'));
});
