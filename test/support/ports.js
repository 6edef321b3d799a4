import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/**
 * Below the ports that Linux gives to outgoing connections (32768 and up), so that no client takes the port of a
 * server that a test stops and starts again, or connects to itself there. Each process begins in a part of its own, by its
 * id: jest's workers, and whatever else runs tests on this machine, rarely meet.
 */
const FIRST_PORT = 12_000;
const PORTS = 20_000;
const PORTS_PER_PROCESS = 100;

let next = (process.pid * PORTS_PER_PROCESS) % PORTS;

/** A port of the loopback interface that nobody listens on, another one each time. */
export const freePort = () => freePorts(1);

/** The first of so many ports in a row that nobody listens on. @param {number} count */
export async function freePorts(count) {
  for (let tries = 0; tries < PORTS; tries += count) {
    if (next + count > PORTS) next = 0;
    const first = FIRST_PORT + next;
    next += count;
    const free = await Promise.all(Array.from({ length: count }, (_, index) => isFree(first + index)));
    if (free.every(Boolean)) return first;
  }
  throw new Error(`No ${count} ports in a row from ${FIRST_PORT} to ${FIRST_PORT + PORTS - 1} are free.`);
}

const MAX_TRIES = 5;

/**
 * Starts something that listens on a free port. Another process may take the port before it listens: then it is tried on
 * another one.
 * @template T
 * @param {(port: number) => Promise<T>} start rejects if the port is taken
 */
export async function onFreePort(start) {
  for (let tries = 1; ; tries++) {
    const port = await freePort();
    try {
      return await start(port);
    } catch (error) {
      if (tries === MAX_TRIES || (await isFree(port))) throw error;
    }
  }
}

/** Whether something can listen there. @param {number} port @param {string} [host] @returns {Promise<boolean>} */
export async function isFree(port, host = '127.0.0.1') {
  const server = createServer().listen(port, host);
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}

/** Whether a port accepts connections. @param {number} port @param {string} [host] @returns {Promise<boolean>} */
export function accepts(port, host = '127.0.0.1') {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const tell = (isOpen) => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => tell(true)).once('error', () => tell(false));
  });
}
