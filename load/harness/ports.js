import { once } from 'node:events';
import { connect, createServer } from 'node:net';

const LOOPBACK = '127.0.0.1';

/** @param {string} [host] @returns {Promise<number>} a port that is free at the moment */
export async function freePort(host = LOOPBACK) {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Whether a port accepts connections. @param {number} port @param {string} [host] @returns {Promise<boolean>} */
export function accepts(port, host = LOOPBACK) {
  return new Promise((resolve) => {
    const socket = connect({ host, port }, () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}
