import { createRequire } from 'node:module';
import type { Logger } from 'pino';
import { replaceMethod } from '../../base/foreign-objects.private.js';
import type { RunConfig } from '../config/options.js';
import { canClash } from '../config/ports.js';

const MEMORY_STORE =
  'express-session keeps its sessions in the memory of each worker (MemoryStore), so a request that reaches another ' +
  'worker has another session. Use a store that the workers share, such as connect-redis.';

/** Logs a warning, once, when an express-session that the application has loaded keeps a session in memory. */
export function warnOfMemoryStore(log: Logger): void {
  const loaded = Object.entries(createRequire(import.meta.url).cache);
  for (const [file, module] of loaded.filter(([file]) => /[\\/]express-session[\\/]index\.js$/.test(file))) {
    const prototype = (module?.exports as { MemoryStore?: { prototype: object } } | undefined)?.MemoryStore?.prototype;
    if (!prototype) continue;
    const putBack = replaceMethod(prototype, 'set', (_store, values, set) => {
      putBack();
      log.warn({ file }, MEMORY_STORE);
      return set(...values);
    });
  }
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
