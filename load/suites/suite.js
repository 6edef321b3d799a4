import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../harness/command.js';
import { own } from '../harness/process/at-exit.js';

/** The suites, each with its folder in a checkout of socket.io. */
export const suites = {
  engine: { about: 'the Engine.IO protocol, revision 4', folder: 'docs/engine.io-protocol/v4-test-suite' },
  socket: { about: 'the Socket.IO protocol, revision 5', folder: 'docs/socket.io-protocol/v5-test-suite' },
};

/** How long one run of a suite may take, in ms. */
const MAX_RUN_MS = 60_000;
const ADDRESS = 'http://localhost:3000';

/** The folder of a suite in a checkout. @throws UsageError */
export function folderOf(checkout, name) {
  const folder = join(checkout, suites[name].folder);
  if (!existsSync(folder)) throw new UsageError(`${checkout} has no ${suites[name].folder}`);
  return folder;
}

/** A suite of socket.io in a folder of its own, with its packages. The checkout stays as it is. */
export class Suite {
  #folder;

  /**
   * @param {string} checkout the folder of the checkout
   * @param {keyof typeof suites} name
   * @param {string} folder where to copy the suite
   */
  constructor(checkout, name, folder) {
    this.#folder = join(folder, name);
    cpSync(folderOf(checkout, name), this.#folder, { recursive: true });
  }

  install() {
    const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
    const { status, stderr } = spawnSync('npm', args, { cwd: this.#folder, encoding: 'utf8' });
    if (status !== 0) throw new Error(`npm ci failed in ${this.#folder}: ${stderr}`);
  }

  /** Runs the suite once. Resolves with the number of tests that passed, and the others. */
  async run(port) {
    const file = join(this.#folder, `on-${port}.js`);
    const code = readFileSync(join(this.#folder, 'test-suite.js'), 'utf8');
    if (!code.includes(ADDRESS)) throw new Error(`the suite does not name ${ADDRESS}`);
    writeFileSync(file, code.replaceAll(ADDRESS, `http://127.0.0.1:${port}`));
    const child = own(
      spawn(process.execPath, ['node_modules/mocha/bin/mocha', '--exit', '--reporter', 'json', file], {
        cwd: this.#folder,
        stdio: ['ignore', 'pipe', 'inherit'],
        timeout: MAX_RUN_MS,
      }),
    );
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    await once(child, 'close');
    if (text === '') throw new Error('a run of the suite ended without a result');
    const { passes, failures } = JSON.parse(text);
    return {
      passed: passes.length,
      failed: failures.map(({ fullTitle, err }) => ({ title: fullTitle, message: err.message })),
    };
  }
}
