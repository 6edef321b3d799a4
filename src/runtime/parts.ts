import { App, SSLApp, type TemplatedApp } from 'uWebSockets.js';
import cluster from 'node:cluster';
import type { Logger } from 'pino';
import { Server } from 'socket.io';
import { kinds, Mesh } from '../cluster/mesh/mesh.js';
import { removeWhereOrphaned } from '../cluster/orphaned.js';
import { ALIVE_INTERVAL_MS, MESH_DIRECTORY } from '../cluster/protocol.js';
import { idPrefixOf, Relay } from '../cluster/relay/relay.js';
import type { Config } from '../config/options.js';
import { Engine } from '../engine/engine.js';
import type { CloseReason } from '../engine/protocol/close-reasons.js';
import type { Session } from '../engine/session/session.js';
import * as parser from '../parser/parser.js';
import type { Backplane } from '../rooms/backplanes/backplane.js';
import { backplaneNameOf, openBackplane } from '../rooms/backplanes/registry.js';
import { withNativeRooms } from '../rooms/native-rooms.js';
import { backplaneEvents, linksOf, readyInTime } from './backplane.js';
import { type Orders, receiveOrders, sendToPrimary } from './orders.js';

/** Links this worker with the other workers of its machine. */
export async function joinMachine(): Promise<{ mesh: Mesh; orders: Orders }> {
  const directory = process.env[MESH_DIRECTORY]!;
  const mesh = new Mesh(cluster.worker!.id, directory, (worker) => sendToPrimary({ type: 'stuck', worker }));
  await mesh.listen();
  removeWhereOrphaned(directory);
  const orders = receiveOrders();
  sendToPrimary({ type: 'meshed' });
  setInterval(() => sendToPrimary({ type: 'alive' }), ALIVE_INTERVAL_MS);
  await mesh.join((await orders.next('join')).workers);
  return { mesh, orders };
}

export interface EngineParts {
  app: TemplatedApp;
  secure: boolean;
  engine: Engine;
  relay: Relay;
}

/** Builds the engine on its app, with the relay to the other workers. */
export function buildEngine(config: Config, mesh: Mesh, log: Logger): EngineParts {
  const secure = config.tlsKey !== undefined;
  const app = secure ? SSLApp({ key_file_name: config.tlsKey, cert_file_name: config.tlsCert }) : App();
  const engine = new Engine({
    idPrefix: idPrefixOf(mesh.id),
    maxHttpBufferSize: config.maxPayload,
    flushMs: config.flushMs,
    maxBackpressure: config.maxBackpressure,
    slowPolicy: config.slowPolicy,
    rateLimit: config.rateLimit,
    maxConnectionsPerIp: config.maxConnectionsPerIp,
    trustProxy: config.trustProxy,
    origins: config.corsOrigin ?? [],
    cors: config.corsOrigin && { origin: config.corsOrigin.includes('*') ? '*' : config.corsOrigin },
  });
  const relay = new Relay(mesh, engine);
  engine.relay = relay;
  engine.addresses?.share(linksOf(mesh, kinds.addresses));
  engine.attach(app, { secure });
  engine.on('limit', ({ remoteAddress: address }: Session, reason: CloseReason) => {
    log.info({ reason, address }, 'a client was disconnected');
  });
  return { app, secure, engine, relay };
}

/** Builds the Socket.IO server on the engine, with rooms that span the workers. */
export async function buildServer(
  config: Config,
  { engine, mesh, ...reports }: { engine: Engine; mesh: Mesh } & Parameters<typeof backplaneEvents>[1],
): Promise<{ io: Server; backplane: Backplane }> {
  const io = new Server({ serveClient: false, parser });
  const events = backplaneEvents(backplaneNameOf(config), reports);
  const backplane = openBackplane(config, linksOf(mesh), events);
  io.adapter(withNativeRooms(backplane.factory, engine) as never);
  io.bind(engine);
  await readyInTime(backplane);
  return { io, backplane };
}
