import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { freePorts, onFreePort } from './ports.js';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function listen(port: number): Promise<number> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  servers.push(server);
  return port;
}

test('free ports are in a row, and not given again', async () => {
  const [first, other] = [await freePorts(3), await freePorts(3)];
  for (const port of [0, 1, 2].flatMap((index) => [first + index, other + index])) await listen(port);
  expect(servers).toHaveLength(6);
});

test('what finds its port taken is started on another one', async () => {
  const tried: number[] = [];
  const port = await onFreePort(async (free) => {
    tried.push(free);
    // Somebody else is faster.
    if (tried.length === 1) await listen(free);
    return listen(free);
  });
  expect(tried).toHaveLength(2);
  expect(port).toBe(tried[1]);
});

test('what fails for another reason is not tried again', async () => {
  const start = () => Promise.reject(new Error('broken'));
  await expect(onFreePort(start)).rejects.toThrow('broken');
});
