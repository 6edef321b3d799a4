import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { TestEnvironment } from 'jest-environment-node';
import { nativeOnly } from '../engine/bases/native-only.mjs';
import { forbidProcesses } from './no-processes.mjs';

/** How long a process that was told to end may take before the file is blamed for it. */
const GRACE_MS = 5_000;

// On a terminal, jest sets it for its processes. What tests start would print colours, too.
delete process.env.FORCE_COLOR;

/** Servers that wait for another test file of this process: see redis.js. */
const parkedServers = new Map();
process.on('exit', () => {
  for (const { child, directory } of [...parkedServers.values()].flat()) {
    child.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  }
});
// Jest ends a process so that does not end by itself.
process.once('SIGTERM', () => process.exit(143));

/**
 * Node's environment, with five rules for each test file:
 * - A `beforeAll` that fails is reported once. Its tests are skipped rather than failed one after the other, and the
 *   `afterAll` beside it, which rarely finds what it needs, is not blamed.
 * - Processes that the file has started (see children.js) end with it. Otherwise jest would wait for them forever.
 *   Leaving one behind fails the file, unless a test has failed anyway.
 * - Folders of temporaryFolder() are removed behind it.
 * - A file of the tier `unit` that starts a process fails.
 * - With GJALLAR_SOCKETS=portable, tests that are about native sockets alone are skipped.
 */
export default class extends TestEnvironment {
  #children = new Map();
  #folders = new Set();
  #brokenBlocks = new Set();
  #nativeOnly = [];
  #isUnit;
  #startErrors = [];
  #allowProcesses = () => {};

  constructor(config, context) {
    super(config, context);
    this.#isUnit = config.projectConfig.testEnvironmentOptions.tier === 'unit';
    if (process.env.GJALLAR_SOCKETS !== 'portable') return;
    const file = relative(config.globalConfig.rootDir, context.testPath);
    this.#nativeOnly = nativeOnly.filter((each) => each.file === file);
  }

  async setup() {
    // For `npm run coverage`: each process that a test starts writes what it ran.
    const { PROCESS_COVERAGE } = process.env;
    if (PROCESS_COVERAGE) process.env.NODE_V8_COVERAGE = resolve(PROCESS_COVERAGE);
    await super.setup();
    this.global.testChildren = this.#children;
    this.global.testFolders = this.#folders;
    this.global.parkedServers = parkedServers;
    if (this.#isUnit) this.#allowProcesses = forbidProcesses((error) => this.#startErrors.push(error));
  }

  async handleTestEvent(event, state) {
    if (event.name === 'run_start') this.#skipNativeOnly(state);
    if (event.name === 'hook_failure') this.#onHookFailure(event, state);
    if (event.name !== 'run_finish') return;
    state.unhandledErrors.push(...this.#startErrors);
    const left = await this.#endChildren(hasFailed(state) ? 0 : GRACE_MS);
    if (left.length > 0 && !hasFailed(state)) {
      const error = new Error(`The tests left processes running, which were killed: ${left.join(', ')}`);
      error.stack = error.message;
      state.unhandledErrors.push(error);
    }
  }

  #skipNativeOnly({ rootDescribeBlock, unhandledErrors }) {
    const tests = testsOf(rootDescribeBlock);
    for (const { test } of this.#nativeOnly) {
      const found = tests.filter((each) => nameOf(each) === test);
      for (const each of found) each.mode = 'skip';
      if (found.length === 0)
        unhandledErrors.push(new Error(`native-only.mjs names a test that is not there: ${test}`));
    }
  }

  async teardown() {
    this.#allowProcesses();
    // A file that could not be loaded has no end of a run.
    await this.#endChildren(0);
    for (const folder of this.#folders)
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    await super.teardown();
  }

  #onHookFailure({ hook, describeBlock, error }, state) {
    if (hook.type === 'beforeAll') {
      // jest has just given the error to each of the tests.
      for (const test of testsOf(describeBlock)) Object.assign(test, { mode: 'skip', errors: [] });
      if (!this.#brokenBlocks.has(describeBlock)) state.unhandledErrors.push([error, hook.asyncError]);
      this.#brokenBlocks.add(describeBlock);
    } else if (hook.type === 'afterAll' && this.#brokenBlocks.has(describeBlock)) {
      state.unhandledErrors.pop();
    }
  }

  async #endChildren(graceMs) {
    const children = [...this.#children].filter(([child]) => isRunning(child));
    const exits = Promise.all(children.map(([child]) => isRunning(child) && once(child, 'exit')));
    if (children.length > 0 && graceMs > 0) {
      let timer;
      await Promise.race([exits, new Promise((resolve) => (timer = setTimeout(resolve, graceMs)))]);
      clearTimeout(timer);
    }
    const left = children.filter(([child]) => isRunning(child));
    for (const [child, signal] of left) {
      child.kill(signal);
      // One that was stopped has to go on to end.
      child.kill('SIGCONT');
    }
    await exits;
    this.#children.clear();
    return left.map(([child]) => `${child.spawnfile} (${child.pid})`);
  }
}

const isRunning = (child) => child.pid !== undefined && child.exitCode === null && child.signalCode === null;

const testsOf = (block) => block.children.flatMap((child) => (child.type === 'test' ? [child] : testsOf(child)));

/** The names of a test and of the blocks that it is in, as jest prints them. */
function nameOf({ name, parent }) {
  return parent?.parent ? `${nameOf(parent)} ${name}` : name;
}

const hasFailed = (state) =>
  state.unhandledErrors.length > 0 || testsOf(state.rootDescribeBlock).some(({ errors }) => errors.length > 0);
