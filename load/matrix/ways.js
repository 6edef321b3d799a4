import { fileURLToPath } from 'node:url';

const dist = new URL('../../dist/', import.meta.url);
const register = new URL('server/register.js', dist).href;
const gjallar = fileURLToPath(new URL('main.js', dist));

/**
 * The ways to run an application. The first is the reference: the others must give what it gives.
 *
 * @typedef {object} Way
 * @property {string} title
 * @property {(file: string, args: string[]) => string[]} command the arguments of Node.js, from those of the application
 * @property {boolean} [isGjallar] its HTTP responses must come from uWebSockets.js, unless the application says otherwise
 * @property {boolean} [hasWorkers] runs only applications that keep no state in memory, and compares no output
 * @type {Record<string, Way>}
 */
export const ways = {
  stock: { title: 'stock socket.io', command: (file, args) => [file, ...args] },
  register: {
    title: 'gjallar/register',
    command: (file, args) => ['--import', register, file, ...args],
    isGjallar: true,
  },
  run: {
    title: 'gjallar run',
    command: (file, args) => [gjallar, 'run', file, '--workers', '4', '--', ...args],
    isGjallar: true,
    hasWorkers: true,
  },
};

export const reference = 'stock';

export const root = fileURLToPath(new URL('../../', import.meta.url));
