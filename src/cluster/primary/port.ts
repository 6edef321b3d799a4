import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { GjallarError } from '../../errors.js';

/**
 * The workers share their port with SO_REUSEPORT, which would let them share it with another server of the same user
 * as well, unnoticed. An ordinary listener finds that out, and which port is free where any will do: uWebSockets.js does
 * not share port 0.
 * @throws GjallarError BAD_CONFIG
 */
export function findPort(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason = error.code === 'EADDRINUSE' ? 'another server uses it' : error.message;
      reject(new GjallarError('BAD_CONFIG', `cannot listen on PORT=${port} at HOST=${host}: ${reason}`));
    });
    server.listen(port, host, () => {
      const { port: found } = server.address() as AddressInfo;
      server.close(() => resolve(found));
    });
  });
}

/**
 * Whether the kernel gives the connections that wait at a listen socket which is closed to another one of the same
 * port, instead of resetting them: Linux from 5.14 on, where `net.ipv4.tcp_migrate_req` is 1.
 */
export function movesConnections(): boolean {
  try {
    return readFileSync('/proc/sys/net/ipv4/tcp_migrate_req', 'utf8').trim() === '1';
  } catch {
    return false;
  }
}
