import { createServer, type Server } from 'node:net';
import { GjallarError } from '../../errors.js';

/**
 * Keeps two servers that start at the same moment from sharing a port: workers share theirs with SO_REUSEPORT, so the
 * kernel would let both in. The lock is a Unix socket in Linux's abstract namespace. It belongs to the network namespace,
 * as ports do, and vanishes with the process.
 * @throws GjallarError BAD_CONFIG
 */
export async function lockPort(host: string, port: number): Promise<Server | undefined> {
  if (process.platform !== 'linux' || port === 0) return undefined;
  const lock = createServer((connection) => connection.destroy());
  await new Promise<void>((resolve, reject) => {
    lock.once('error', (error: NodeJS.ErrnoException) => {
      // A system without such sockets has no such protection.
      if (error.code !== 'EADDRINUSE') return resolve();
      const reason = 'another gjallar starts or runs on this port; stop it, or set another PORT';
      reject(new GjallarError('BAD_CONFIG', `cannot listen on PORT=${port} at HOST=${host}: ${reason}`));
    });
    lock.listen(`\0gjallar ${host} ${port}`, resolve);
  });
  lock.unref();
  return lock;
}
