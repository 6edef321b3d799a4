/**
 * `node --import gjallar/register server.js` runs an unmodified Socket.IO application on gjallar. Each copy of socket.io
 * is changed when it is loaded. `import 'socket.io'` loads the same CommonJS file as `require()`.
 */
import '../../engine/uws/environment.js';
import Module from 'node:module';
import { replaceMethod } from '../../base/foreign-objects.private.js';
import { thisProcess } from '../../base/process.js';
import { warnOnce } from '../../base/warnings.js';
import { missingInServer } from '../socket-io-server.private.js';
import { copyOf, versionProblem } from '../socket-io-version.js';
import { install } from './install.js';

type Resolve = (...request: unknown[]) => string;
const loader = Module as unknown as { _load?: unknown; _resolveFilename?: Resolve };

if (typeof loader._load === 'function') {
  replaceMethod(loader, '_load', (_self, request, load) => {
    const exports = load(...request);
    change(exports, () => loader._resolveFilename?.(...request));
    return exports;
  });
} else {
  warnOnce('GJALLAR_REGISTER', 'gjallar/register cannot change socket.io in this version of Node.js.');
}

const checked = new WeakSet<object>();

/**
 * Makes socket.io run on gjallar, if the loaded module is a copy of it, under whatever name the application loads it.
 * @param file the module's file, which is costly to find out
 */
function change(exports: unknown, file: () => string | undefined): void {
  if ((typeof exports !== 'object' && typeof exports !== 'function') || exports === null) return;
  // Up to version 2, the module is the class itself. A getter of another module must not be called.
  const Server: unknown = Object.getOwnPropertyDescriptor(exports, 'Server')?.value ?? exports;
  const prototype: unknown = typeof Server === 'function' ? Server.prototype : undefined;
  if (typeof prototype !== 'object' || prototype === null) return;
  if (!('of' in prototype && 'attach' in prototype && 'bind' in prototype)) return;
  if (checked.has(prototype)) return;
  const path = file() ?? '';
  const copy = copyOf(path);
  // A class of the application that extends socket.io's has the methods, too.
  if (!copy && !path.includes('socket.io')) return;
  checked.add(prototype);
  const missing = missingInServer(prototype);
  const problem = copy
    ? versionProblem(copy)
    : missing.length > 0 &&
      `the copy of socket.io in ${path} does not work with gjallar: its Server has no ${missing.join(', ')}`;
  if (problem) reportUse(prototype, problem);
  else install(prototype);
}

/** Reports a copy that stays as it is when a server of it is attached: a package that is only loaded serves no clients. */
function reportUse(prototype: object, problem: string): void {
  replaceMethod(prototype, 'bind', (_server, args, bind) => {
    const { onRefusedVersion } = thisProcess;
    if (onRefusedVersion) onRefusedVersion(problem);
    else warnOnce('GJALLAR_REGISTER', `${problem}. Until then, this server runs on stock socket.io.`);
    return bind(...args);
  });
}

declare module '../../base/process.js' {
  interface ProcessHost {
    /** Called, instead of printing a warning, when a server is attached that is of a version that does not work. */
    onRefusedVersion?: (problem: string) => void;
  }
}
