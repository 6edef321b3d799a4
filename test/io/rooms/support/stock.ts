import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server, type ServerOptions } from 'socket.io';
import type { TestNode } from './node.js';

/** A server on stock engine.io and ws, on a free port of the loopback interface. */
export async function startStock(options: Partial<ServerOptions> = {}): Promise<Omit<TestNode, 'engine' | 'urls'>> {
  const http = createServer().listen(0, '127.0.0.1');
  await once(http, 'listening');
  const io = new Server(http, options);
  return {
    io,
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    close: async () => {
      await io.close();
    },
  };
}
