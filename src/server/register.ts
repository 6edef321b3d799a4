/**
 * `node --import gjallar/register server.js` runs an unmodified Socket.IO application on gjallar. Each copy of socket.io
 * is changed when it is loaded. `import 'socket.io'` loads the same CommonJS file as `require()`.
 */
import '../compat/uws/environment.js';
import Module from 'node:module';
import { warnOnce } from '../base/warnings.js';
import { missingInServer } from '../compat/socket-io-server.js';
import { install } from './install.js';

type Load = (this: unknown, request: string, ...rest: unknown[]) => unknown;

const loader = Module as unknown as { _load: Load };
const load = loader._load;

if (typeof load === 'function') {
  loader._load = function (request, ...rest) {
    const exports = load.call(this, request, ...rest);
    if (request.includes('socket.io')) change(exports);
    return exports;
  };
} else {
  warnOnce('GJALLAR_REGISTER', 'gjallar/register cannot change socket.io in this version of Node.js.');
}

/** Makes socket.io run on gjallar, if the loaded module is a copy of it. */
function change(exports: unknown): void {
  const prototype = (exports as { Server?: { prototype?: object } } | undefined)?.Server?.prototype;
  if (!prototype || !('of' in prototype && 'attach' in prototype && 'bind' in prototype)) return;
  const missing = missingInServer(prototype);
  if (missing.length === 0) return install(prototype);
  warnOnce(
    'GJALLAR_REGISTER',
    `gjallar/register left a copy of socket.io as it is, because its Server has no ${missing.join(', ')}.`,
  );
}
