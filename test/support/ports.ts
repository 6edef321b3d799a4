import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that Linux gives to outgoing connections (32768 and up), so that no client takes the port of a
 * server that a test stops and starts again, or connects to itself there. Each jest worker has a part of its own.
 */
const FIRST_PORT = 12_000;
const PORTS_PER_WORKER = 1_000;
const WORKER_PARTS = 20;

const part = FIRST_PORT + (Number(process.env.JEST_WORKER_ID ?? 1) % WORKER_PARTS) * PORTS_PER_WORKER;
let next = Math.floor(Math.random() * PORTS_PER_WORKER);

/** A port of the loopback interface that nobody listens on, another one each time. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORTS_PER_WORKER; tries++) {
    const port = part + (next++ % PORTS_PER_WORKER);
    if (await isFree(port)) return port;
  }
  throw new Error(`No port from ${part} to ${part + PORTS_PER_WORKER - 1} is free.`);
}

/** The first of so many ports in a row that nobody listens on. */
export async function freePorts(count: number): Promise<number> {
  for (let tries = 0; tries < PORTS_PER_WORKER; tries++) {
    const first = part + Math.floor(Math.random() * (PORTS_PER_WORKER - count));
    const free = await Promise.all(Array.from({ length: count }, (_, index) => isFree(first + index)));
    if (free.every(Boolean)) return first;
  }
  throw new Error(`No ${count} ports in a row from ${part} to ${part + PORTS_PER_WORKER - 1} are free.`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
