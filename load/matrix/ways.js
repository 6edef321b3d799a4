import { fileURLToPath } from 'node:url';

const dist = new URL('../../dist/', import.meta.url);
const register = new URL('server/register.js', dist).href;
const gjallar = fileURLToPath(new URL('main.js', dist));

/**
 * What is started: a file with its arguments, those of Node.js, and the number of workers.
 * @typedef {{ file: string, args: string[], nodeArgs: string[], workers: number }} Started
 */

/**
 * The ways to run an application. The first is the reference: the others must give what it gives.
 *
 * @typedef {object} Way
 * @property {string} title
 * @property {(app: Started) => string[]} command the arguments of Node.js, from those of the application
 * @property {Record<string, string>} [env]
 * @property {boolean} [isGjallar] gjallar must answer the requests to Socket.IO
 * @property {boolean} [isOnUws] HTTP responses must come from uWebSockets.js, unless the application says otherwise
 * @property {boolean} [hasWorkers] runs only applications that keep no state in memory, and compares no output
 * @type {Record<string, Way>}
 */
export const ways = {
  stock: { title: 'stock socket.io', command: ({ file, args, nodeArgs }) => [...nodeArgs, file, ...args] },
  register: {
    title: 'gjallar/register',
    command: registered,
    isGjallar: true,
    isOnUws: true,
  },
  run: {
    title: 'gjallar run',
    command: ({ file, args, nodeArgs, workers }) => [
      ...[gjallar, 'run', ...nodeArgs, file, '--workers', String(workers), '--', ...args],
    ],
    isGjallar: true,
    isOnUws: true,
    hasWorkers: true,
  },
  portable: {
    title: 'portable sockets',
    command: registered,
    env: { GJALLAR_SOCKETS: 'portable' },
    isGjallar: true,
  },
};

export const reference = 'stock';

/** The ways of the applications that belong to the matrix itself. */
export const usualWays = ['stock', 'register', 'run'];

function registered({ file, args, nodeArgs }) {
  return [...nodeArgs, '--import', register, file, ...args];
}

export const root = fileURLToPath(new URL('../../', import.meta.url));
