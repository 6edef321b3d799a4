import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { own } from '../harness/process/at-exit.js';
import { program } from '../harness/service.js';

const apps = fileURLToPath(new URL('apps/', import.meta.url));
/** For how long nothing may have moved before the next step, in ms. */
const SETTLE_MS = 150;

/** The ways in which gjallar runs an application. */
export const ways = {
  register: { title: 'gjallar/register' },
  run: { title: 'gjallar run', args: ['--workers', '2'] },
  portable: { title: 'portable sockets', env: { GJALLAR_SOCKETS: 'portable' } },
};

/** The arguments of `gjallar compare` for one part of an application. @param {import('./applications.js').Part} part */
export function argumentsOf({ file, folder = apps, path, start }, part, way) {
  const { namespace = '/', get = [], events = [], auth, headers = [] } = part;
  return [
    ...[
      'compare',
      join(folder, file),
      '--json',
      '--clients',
      '0',
      '--settle',
      String(SETTLE_MS),
      '--namespace',
      namespace,
    ],
    ...get.flatMap((one) => ['--get', one]),
    ...events.flatMap(([option, event]) => [`--${option}`, event]),
    ...(auth ? ['--auth', JSON.stringify(auth)] : []),
    ...headers.flatMap((one) => ['--header', one]),
    ...(path ? ['--path', path] : []),
    ...(start ?? []),
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
  const found = { compared: 0, differences: [] };
  for (const part of application.parts) {
    const { behaviour } = await run(argumentsOf(application, part, way), { ...application.env, ...way.env });
    found.compared += behaviour.compared;
    for (const { where, stock, gjallar } of behaviour.differences) {
      found.differences.push(`${where}: ${short(gjallar)} instead of ${short(stock)}`);
    }
  }
  // A comparison of nothing would be equal, too.
  if (found.compared === 0) throw new Error('nothing was compared');
  return found;
}

async function run(args, env) {
  const { PATH, HOME, TMPDIR = '/tmp' } = process.env;
  const child = own(
    spawn(process.execPath, [program, ...args], {
      env: { PATH, HOME, TMPDIR, HOST: '127.0.0.1', HOSTNAME: '127.0.0.1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
  const printed = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr']) {
    child[stream].setEncoding('utf8').on('data', (text) => {
      printed[stream] += text;
    });
  }
  const [code] = await once(child, 'close');
  if (code === 0 || code === 1) return JSON.parse(printed.stdout);
  throw new Error(printed.stderr.trim().slice(-1000) || `gjallar compare ended with ${code}`);
}

function short(value) {
  const json = JSON.stringify(value) ?? 'nothing';
  return json.length > 200 ? `${json.slice(0, 200)}…` : json;
}
