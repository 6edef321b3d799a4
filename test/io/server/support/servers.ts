import { once } from 'node:events';
import { createServer, type Server as HttpServer, type RequestListener } from 'node:http';
import type { AddressInfo, ListenOptions } from 'node:net';
import { Server as StockServer } from 'socket.io';
import { io as connect, type ManagerOptions, type Socket, type SocketOptions } from 'socket.io-client';
import { Server, type ServerOptions } from '../../../../src/index.js';
import { leave } from '../../../support/clients.js';

/** The class an application makes its server of. What holds for the one must hold for the other. */
export const classes = [
  ['socket.io', StockServer as unknown as typeof Server],
  ['gjallar', Server],
] as const;

const open: { close(): unknown }[] = [];

/** To be closed when the test is over. */
export function closeLater<T extends { close(): unknown }>(one: T): T {
  open.push(one);
  return one;
}

/** Closes what the test has opened, the last first. */
export async function closeAll(): Promise<void> {
  for (const one of open.splice(0).reverse()) {
    await one.close();
    if ('closeAllConnections' in one) (one as unknown as HttpServer).closeAllConnections();
  }
}

export interface Running {
  readonly http: HttpServer;
  readonly io: Server;
  readonly port: number;
  readonly url: string;
}

/** Runs an application with an HTTP server and a Socket.IO server on it. */
export async function run(
  Class: typeof Server,
  listener?: RequestListener,
  options: Partial<ServerOptions> = {},
  listen: ListenOptions = { port: 0, host: '127.0.0.1' },
): Promise<Running> {
  const http = createServer(listener);
  const io = closeLater(new Class(http, options));
  http.listen(listen);
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  return { http, io, port, url: `http://127.0.0.1:${port}` };
}

/** A real client that does not come back. */
export function client(url: string, options: Partial<ManagerOptions & SocketOptions> = {}): Socket {
  const socket = connect(url, { forceNew: true, reconnection: false, ...options });
  closeLater({ close: () => leave(socket) });
  return socket;
}

export async function closed(server: HttpServer): Promise<void> {
  await new Promise((resolve) => server.close(resolve));
}
