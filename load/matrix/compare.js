import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atExit, own } from '../../test/support/children.js';
import { program } from '../../test/support/service.js';
import { runTool } from '../harness/process/tool.js';

const apps = fileURLToPath(new URL('apps/', import.meta.url));
/** For how long nothing may have moved before the next step, in ms. */
const SETTLE_MS = 150;
/** npm gives up on a package that comes too slowly, in ms. */
const MAX_INSTALL_MS = 300_000;

/** The ways in which gjallar runs an application. */
export const ways = {
  register: { title: 'gjallar/register' },
  run: { title: 'gjallar run', args: ['--workers', '2'] },
  portable: { title: 'portable sockets', env: { GJALLAR_SOCKETS: 'portable' } },
};

/**
 * The arguments of `gjallar compare` for one part of an application.
 * @param {{ file: string, folder?: string, path?: string }} application
 * @param {import('./applications.js').Part} part
 * @param {{ args?: string[] }} way
 */
export function argumentsOf({ file, folder = apps, path }, part, way) {
  const { namespace = '/', get = [], events = [], auth } = part;
  const measured = ['--json', '--clients', '0', '--settle', String(SETTLE_MS)];
  return [
    ...['compare', join(folder, file), ...measured, '--namespace', namespace],
    ...get.flatMap((one) => ['--get', one]),
    ...events.flatMap((text) => {
      const [, option, event] = /^(\w+) (.*)$/s.exec(text);
      return [`--${option}`, event];
    }),
    ...(auth ? ['--auth', JSON.stringify(auth)] : []),
    ...(path ? ['--path', path] : []),
    ...(way.args ?? []),
  ];
}

/**
 * Compares an application on stock socket.io and on gjallar in one way.
 * @param {import('./applications.js').Application & { folder?: string }} application
 * @returns {Promise<{ compared: number, differences: string[] }>}
 * @throws Error if it could not be compared
 */
export async function compare(application, name) {
  const way = ways[name];
  const { PATH, HOME, TMPDIR = '/tmp' } = process.env;
  const env = { PATH, HOME, TMPDIR, HOST: '127.0.0.1', HOSTNAME: '127.0.0.1', ...application.env, ...way.env };
  const found = { compared: 0, differences: [] };
  for (const part of application.parts) {
    const command = [process.execPath, program, ...argumentsOf(application, part, way)];
    const { code, output } = await runTool(command, { env, onSpawn: own });
    if (code !== 0 && code !== 1) throw new Error(output.trim().slice(-1000) || `gjallar compare ended with ${code}`);
    const { behaviour } = JSON.parse(output.split('\n').find((line) => line.startsWith('{"file"')));
    found.compared += behaviour.compared;
    for (const { where, stock, gjallar } of behaviour.differences) {
      found.differences.push(`${where}: ${short(gjallar)} instead of ${short(stock)}`);
    }
  }
  // A comparison of nothing would be equal, too.
  if (found.compared === 0) throw new Error('nothing was compared');
  return found;
}

function short(value) {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
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
