import Module from 'node:module';
import type { Logger } from 'pino';
import { canClash } from '../config/ports.js';
import type { RunConfig } from '../config/run-options.js';

type Load = (this: unknown, request: string, ...rest: unknown[]) => unknown;

/** Packages that make processes of an application work together, which gjallar does itself. */
const remedies: Readonly<Record<string, string>> = {
  '@socket.io/sticky':
    'the application uses @socket.io/sticky; gjallar needs no sticky sessions. Remove setupMaster(), setupWorker() and ' +
    'cluster.fork(), and let every process create the server and listen.',
  '@socket.io/cluster-adapter':
    'the application uses @socket.io/cluster-adapter; gjallar connects the workers itself. Remove the adapter and ' +
    'setupPrimary().',
};

const MEMORY_STORE =
  'express-session keeps its sessions in the memory of each worker (MemoryStore), so a request that reaches another ' +
  'worker has another session. Use a store that the workers share, such as connect-redis.';

/** Logs a warning for what the application keeps or does in each process for itself, once for each kind. */
export function warnOfLocalState(log: Logger): void {
  const loader = Module as unknown as { _load: Load };
  const load = loader._load;
  const given = new Set<string>();
  const warn = (text: string) => {
    if (!given.has(text)) log.warn(text);
    given.add(text);
  };
  loader._load = function (request, ...rest) {
    const exports = load.call(this, request, ...rest);
    const remedy = Object.entries(remedies).find(([name]) => isPackage(request, name))?.[1];
    if (remedy) warn(remedy);
    if (isPackage(request, 'express-session')) watchMemoryStore(exports, () => warn(MEMORY_STORE));
    return exports;
  };
}

/** Whether a request names a package. An import of a CommonJS package requests the path of its file. */
function isPackage(request: string, name: string): boolean {
  return request === name || request.includes(`/node_modules/${name}/`);
}

interface SessionModule {
  MemoryStore?: { prototype: { createSession?: unknown; set(...values: unknown[]): unknown } };
}

const watched = new WeakSet<object>();

/** Calls back with each session that a MemoryStore keeps. */
function watchMemoryStore(exports: unknown, onUse: () => void): void {
  const prototype = (exports as SessionModule | undefined)?.MemoryStore?.prototype;
  if (!prototype || watched.has(prototype)) return;
  watched.add(prototype);
  const { set } = prototype;
  prototype.set = function (...values) {
    onUse();
    return set.apply(this, values);
  };
}

/** Names the admin port as the reason why a server of the application cannot listen, which the error itself does not. */
export function explainAdminPort(
  { adminPort, adminHost }: Pick<RunConfig, 'adminPort' | 'adminHost'>,
  log: Logger,
): (error: NodeJS.ErrnoException) => void {
  let isLogged = false;
  return (error) => {
    const { code, address = '::', port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
    if (isLogged || code !== 'EADDRINUSE' || port !== adminPort || !canClash(address, adminHost)) return;
    isLogged = true;
    log.error(
      `the application cannot listen on port ${port}: ADMIN_PORT=${port} uses it. Set another ADMIN_PORT, or another port ` +
        'of the application.',
    );
  };
}
