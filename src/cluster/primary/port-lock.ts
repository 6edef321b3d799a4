import { createServer, type Server } from 'node:net';

/** The addresses that stand for all addresses of the machine. */
const WILDCARDS = new Set(['', '0.0.0.0', '::']);

/** The name of the lock of an address. */
export function lockNameOf(host: string, port: number): string {
  return `${WILDCARDS.has(host) ? '*' : host} ${port}`;
}

/**
 * Keeps two servers that start at the same moment from sharing a port: workers share theirs with SO_REUSEPORT, so the
 * kernel would let both in. The lock is a Unix socket in Linux's abstract namespace. It belongs to the network namespace,
 * as ports do, and vanishes with the process.
 * @returns undefined if the system has no such sockets, and for port 0
 * @throws an error with the code EADDRINUSE if another server holds the lock
 */
export async function lockPort(host: string, port: number): Promise<Server | undefined> {
  if (process.platform !== 'linux' || port === 0) return undefined;
  const lock = createServer((connection) => connection.destroy());
  const isLocked = await new Promise<boolean>((resolve, reject) => {
    lock.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') reject(error);
      else resolve(false);
    });
    lock.listen(`\0gjallar ${lockNameOf(host, port)}`, () => resolve(true));
  });
  if (!isLocked) return undefined;
  lock.unref();
  return lock;
}
