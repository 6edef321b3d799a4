import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { GjallarError } from '../../errors.js';

/**
 * Finds the port for the workers, with an ordinary listener. The workers share their port with SO_REUSEPORT, so another
 * server of the same user could share it unnoticed. For port 0, the listener picks a free port, because uWebSockets.js
 * does not share port 0.
 * @throws GjallarError BAD_CONFIG
 */
export function findPort(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason =
        error.code === 'EADDRINUSE' ? 'another server uses this port; stop it, or set another PORT' : error.message;
      reject(new GjallarError('BAD_CONFIG', `cannot listen on PORT=${port} at HOST=${host}: ${reason}`));
    });
    server.listen(port, host, () => {
      const { port: found } = server.address() as AddressInfo;
      server.close(() => resolve(found));
    });
  });
}

/**
 * Whether the kernel moves waiting connections to another listen socket of the same port when theirs is closed.
 * Otherwise it resets them. Linux 5.14 and later do so if `net.ipv4.tcp_migrate_req` is 1.
 */
export function movesConnections(): boolean {
  try {
    return readFileSync('/proc/sys/net/ipv4/tcp_migrate_req', 'utf8').trim() === '1';
  } catch {
    return false;
  }
}
