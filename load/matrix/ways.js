import { fileURLToPath } from 'node:url';

const register = new URL('../../dist/server/register.js', import.meta.url).href;

/**
 * The ways to run an application. The first is the reference: the others must give what it gives.
 *
 * @typedef {object} Way
 * @property {string} title
 * @property {(file: string) => string[]} command the arguments of Node.js
 * @property {boolean} [isGjallar] its HTTP responses must come from uWebSockets.js, unless the application says otherwise
 * @property {boolean} [hasWorkers] runs only applications that keep no state in memory, and compares no output
 * @type {Record<string, Way>}
 */
export const ways = {
  stock: { title: 'stock socket.io', command: (file) => [file] },
  register: { title: 'gjallar/register', command: (file) => ['--import', register, file], isGjallar: true },
};

export const reference = 'stock';

export const root = fileURLToPath(new URL('../../', import.meta.url));
