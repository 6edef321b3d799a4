import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atExit } from '../harness/process/at-exit.js';

const chat = fileURLToPath(new URL('apps/chat.cjs', import.meta.url));

/** npm gives up on a package that comes too slowly, in ms. */
const MAX_INSTALL_MS = 300_000;

/** The packages of an application that this machine cannot get. */
export class FetchError extends Error {}

/**
 * Copies an application into a temporary folder, installs its packages there and builds it. The folder goes with this process.
 * @param {import('./applications.js').Application['from']} from
 * @returns {string} the folder
 */
export function install({ folder: source, packages: dependencies, isModule, build = [] }) {
  const folder = mkdtempSync(join(tmpdir(), 'gjallar-gallery-'));
  atExit(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  cpSync(source, folder, { recursive: true, filter: (path) => !/\/(node_modules|\.next)(\/|$)/.test(path) });
  if (!existsSync(join(folder, 'chat.cjs'))) cpSync(chat, join(folder, 'chat.cjs'));
  const manifest = { private: true, type: isModule ? 'module' : 'commonjs', dependencies };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--legacy-peer-deps'];
  const npm = spawnSync('npm', ['install', ...options, '--prefer-offline'], {
    ...{ cwd: folder, encoding: 'utf8', timeout: MAX_INSTALL_MS },
  });
  if (npm.status !== 0) {
    const reason = npm.stderr?.split('\n').find((line) => line.startsWith('npm error') && !/ code /.test(line));
    throw new FetchError(npm.error?.message ?? reason ?? `npm ended with ${npm.status ?? npm.signal}`);
  }
  for (const [program, ...args] of build) {
    const { status, stdout, stderr } = spawnSync(join(folder, 'node_modules/.bin', program), args, {
      ...{ cwd: folder, encoding: 'utf8' },
      env: { ...process.env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' },
    });
    if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stdout}${stderr}`.slice(-2000));
  }
  return folder;
}
