import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atExit, own } from '../../test/support/children.js';
import { program } from '../../test/support/service.js';
import { runTool } from '../harness/process/tool.js';
import { move } from './moves.js';

const apps = fileURLToPath(new URL('apps/', import.meta.url));
/** The behaviour alone, with 150 ms in which nothing may have moved before the next step. */
const measured = ['--json', '--clients', '0', '--settle', '150'];
/** npm gives up on a package that comes too slowly, in ms. */
const MAX_INSTALL_MS = 300_000;

/** The ways in which gjallar runs an application. */
export const ways = {
  register: { title: 'gjallar/register' },
  run: { title: 'gjallar run', args: ['--workers', '2'] },
  portable: { title: 'portable sockets', env: { GJALLAR_SOCKETS: 'portable' } },
  moves: { title: 'reloads' },
};

/**
 * Compares an application on stock socket.io and on gjallar in one way, or reloads it; see {@link move}.
 * @param {import('./applications.js').Application & { folder?: string }} application
 * @returns {Promise<{ compared: number, differences: string[] }>}
 * @throws Error if it could not be compared
 */
export async function compare({ file, folder = apps, calls, env: more, talk }, name) {
  if (name === 'moves') return move({ path: join(folder, file), env: more, talk });
  const way = ways[name];
  const { PATH, HOME, TMPDIR = '/tmp' } = process.env;
  const env = { PATH, HOME, TMPDIR, HOST: '127.0.0.1', HOSTNAME: '127.0.0.1', ...more, ...way.env };
  const found = { compared: 0, differences: [] };
  for (const options of calls) {
    const command = [process.execPath, program, 'compare', join(folder, file), ...measured, ...(way.args ?? [])];
    const args = options.flatMap((option) => /^(\S+) (.*)$/s.exec(option).slice(1));
    const { code, output } = await runTool([...command, ...args], { env, onSpawn: own });
    if (code !== 0 && code !== 1) throw new Error(output.trim().slice(-1000) || `gjallar compare ended with ${code}`);
    const { behaviour } = JSON.parse(output.split('\n').find((line) => line.startsWith('{"file"')));
    found.compared += behaviour.compared;
    found.differences.push(...behaviour.differences.map((difference) => JSON.stringify(difference)));
  }
  // A comparison of nothing would be equal, too.
  if (found.compared === 0) throw new Error('nothing was compared');
  return found;
}

/** The packages of an application that this machine cannot get. */
export class FetchError extends Error {}

/**
 * Copies an application into a temporary folder, installs its packages there and builds it. The folder goes with this process.
 * @param {import('./applications.js').Application['from']} from
 * @returns {string} the folder
 */
export function install({ folder: source, packages, isModule, build = [] }) {
  const folder = mkdtempSync(join(tmpdir(), 'gjallar-gallery-'));
  atExit(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  cpSync(source, folder, { recursive: true, filter: (path) => !/\/(node_modules|\.next)(\/|$)/.test(path) });
  if (!existsSync(join(folder, 'chat.cjs'))) cpSync(join(apps, 'chat.cjs'), join(folder, 'chat.cjs'));
  const type = isModule ? 'module' : 'commonjs';
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type }));
  const run = (command, args, more) => spawnSync(command, args, { cwd: folder, encoding: 'utf8', ...more });
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--legacy-peer-deps'];
  const npm = run('npm', ['install', ...options, '--prefer-offline', ...packages], { timeout: MAX_INSTALL_MS });
  if (npm.status !== 0) {
    const reason = npm.stderr?.split('\n').find((line) => line.startsWith('npm error') && !/ code /.test(line));
    throw new FetchError(npm.error?.message ?? reason ?? `npm ended with ${npm.status ?? npm.signal}`);
  }
  for (const command of build) {
    const [name, ...args] = command.split(' ');
    const env = { ...process.env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' };
    const { status, stdout, stderr } = run(join(folder, 'node_modules/.bin', name), args, { env });
    if (status !== 0) throw new Error(`${command}: ${stdout}${stderr}`.slice(-2000));
  }
  return folder;
}
