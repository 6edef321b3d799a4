import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Server, type ServerOptions } from 'socket.io';
import { App, SSLApp } from '../../../src/engine/sockets.js';
import { createAdapter, Server as DropIn, Engine, type EngineOptions, parser } from '../../../src/index.js';
import { listen } from './engine.js';

export type Application = (io: Server) => void;

export interface Served {
  readonly io: Server;
  readonly url: string;
  /** Closes the application, and what it runs on. */
  close(): Promise<void>;
}

/** Files with a key and a certificate. */
export interface Tls {
  key: string;
  cert: string;
}

/** Runs an application the way its users do: on node:http, or on gjallar. */
export type Serve = (application: Application, options?: Partial<ServerOptions>, tls?: Tls) => Promise<Served>;

/** An HTTP server with a Socket.IO server on it. */
const serveOn =
  (Class: typeof Server): Serve =>
  async (application, options = {}, tls) => {
    const http = tls
      ? createHttpsServer({ key: readFileSync(tls.key), cert: readFileSync(tls.cert) })
      : createHttpServer();
    const io = new Class(http, { serveClient: false, ...options });
    application(io);
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    const { port } = http.address() as AddressInfo;
    const close = async () => {
      await io.close();
      http.closeAllConnections();
    };
    return { io, url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`, close };
  };

/** Stock socket.io. */
export const serveStock = serveOn(Server);

/** gjallar's own Server in its place. */
export const serveDropIn = serveOn(DropIn as unknown as typeof Server);

/** gjallar's engine and rooms on an app of one's own. The app itself is closed by `closeEngines`. */
export const serveGjallar: Serve = async (application, options = {}, tls) => {
  const app = tls ? SSLApp({ key_file_name: tls.key, cert_file_name: tls.cert }) : App();
  const engine = new Engine(options as EngineOptions);
  const { path, addTrailingSlash } = options;
  engine.attach(app, { path, addTrailingSlash, secure: tls !== undefined });
  const io = new Server({ serveClient: false, ...options, adapter: createAdapter(engine), parser });
  io.bind(engine);
  application(io);
  const port = await listen(app);
  return { io, url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`, close: () => io.close() };
};
