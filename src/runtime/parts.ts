import { Server } from 'socket.io';
import type { Config } from '../config/options.js';
import { Engine } from '../engine/engine.js';
import { App, SSLApp } from '../engine/sockets.js';
import * as parser from '../parser/parser.js';
import { withNativeRooms } from '../rooms/index.js';
import type { TemplatedApp } from '../sockets.js';
import { corsOptionsOf } from './engine-options.js';
import type { MachineWorker } from './machine-worker.js';

/** Builds the engine on its app. */
export function buildEngine(config: Config): { app: TemplatedApp; secure: boolean; engine: Engine } {
  const { corsOrigin, tlsKey, tlsCert } = config;
  const secure = tlsKey !== undefined;
  const app = secure ? SSLApp({ key_file_name: tlsKey, cert_file_name: tlsCert }) : App();
  // Without CORS_ORIGIN, only pages of the server itself may connect.
  const engine = new Engine(corsOrigin ? corsOptionsOf(corsOrigin) : { origins: [] });
  engine.attach(app, { secure });
  return { app, secure, engine };
}

/** Builds the Socket.IO server on the engine, with rooms that span the workers. */
export async function buildServer(worker: MachineWorker, engine: Engine): Promise<Server> {
  const io = new Server({ serveClient: false, parser });
  worker.addServer(io);
  const backplane = worker.openBackplane(engine.outbox);
  io.adapter(withNativeRooms(backplane.factory, engine) as never);
  io.bind(engine);
  await worker.ready();
  return io;
}
