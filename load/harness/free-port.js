import { once } from 'node:events';
import { createServer } from 'node:net';

/** @param {string} host @returns {Promise<number>} a port that is free at the moment */
export async function freePort(host) {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
