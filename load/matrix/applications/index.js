import { fileURLToPath } from 'node:url';
import bad from './bad.js';
import frameworks from './frameworks.js';
import http from './http.js';
import sockets from './sockets.js';
import users from './users.js';

const folder = fileURLToPath(new URL('../apps/', import.meta.url));

/**
 * @typedef {object} Application
 * @property {string} about
 * @property {string} [file] what Node.js runs, in `apps/`
 * @property {(visitor: import('../visitor.js').Visitor) => Promise<object>} script visits it; what it returns is compared
 * @property {boolean} [isStateless] keeps nothing in memory that another worker would miss
 * @property {boolean} [hasPage] the script uses Chromium
 * @property {boolean} [isHeavy] needs the packages of `frameworks/`
 * @property {string[]} [onNode] the ways in which node:http keeps its port, as docs/move.md lists
 * @property {() => { file: string, folder: string, args?: string[], remove(): void }} [prepare] instead of `file`
 * @property {boolean} [isVerbose] prints times and the like, so that its output is not compared
 * @property {string} [attachedBy] the path of the request that attaches Socket.IO
 * @property {number} [port] that its code fixes
 * @property {string} [path] of Socket.IO, if it is not the default
 * @property {boolean} [listens] false: the script waits for it itself
 */

/** Every application by its name. @type {Record<string, Application>} */
export const applications = { ...http, ...users, ...sockets, ...bad, ...frameworks };

for (const one of Object.values(applications)) one.folder = folder;
