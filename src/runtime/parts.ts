import type { TemplatedApp } from 'uWebSockets.js';
import cluster from 'node:cluster';
import { rmdirSync } from 'node:fs';
import type { Logger } from 'pino';
import { Server } from 'socket.io';
import { kinds, Mesh } from '../cluster/mesh/mesh.js';
import { ALIVE_INTERVAL_MS, MESH_DIRECTORY } from '../cluster/protocol.js';
import { idPrefixOf, Relay } from '../cluster/relay/relay.js';
import { App, SSLApp } from '../compat/uws.js';
import type { Config } from '../config/options.js';
import { redisNamesOf } from '../config/redis-names.js';
import { Engine } from '../engine/engine.js';
import { isAllowedOrigin } from '../engine/limits/origin.js';
import * as parser from '../parser/parser.js';
import type { Backplane } from '../rooms/backplanes/backplane.js';
import { backplaneNameOf, openBackplane } from '../rooms/backplanes/registry.js';
import { withNativeRooms } from '../rooms/native-rooms.js';
import { backplaneEvents, linksOf, readyInTime } from './backplane.js';
import { reportEngine } from './engine-events.js';
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

/**
 * Removes the folder of the workers' sockets when this worker exits, if the primary was killed and could not do it.
 * Call it once this worker's own socket exists, so that the socket is removed first.
 */
function removeWhereOrphaned(directory: string): void {
  process.once('exit', () => {
    if (process.connected) return;
    try {
      rmdirSync(directory);
    } catch {
      // Other workers still have sockets in it. The last worker removes it.
    }
  });
}

export interface EngineParts {
  app: TemplatedApp;
  secure: boolean;
  engine: Engine;
  relay: Relay;
}

/** Builds the engine on its app, with the relay to the other workers. */
export function buildEngine(
  config: Config,
  { mesh, problems, log }: { mesh: Mesh; problems: Set<string>; log: Logger },
): EngineParts {
  const secure = config.tlsKey !== undefined;
  const app = secure ? SSLApp({ key_file_name: config.tlsKey, cert_file_name: config.tlsCert }) : App();
  const engine = new Engine({
    idPrefix: idPrefixOf(mesh.id),
    maxHttpBufferSize: config.maxPayload,
    flushMs: config.flushMs,
    maxBackpressure: config.maxBackpressure,
    slowPolicy: config.slowPolicy,
    shedsLoad: true,
    maxBuffered: Math.floor(config.maxBuffered / config.workers),
    allowedHosts: config.allowedHosts,
    rateLimit: config.rateLimit,
    maxConnectionsPerIp: config.maxConnectionsPerIp,
    allowEIO3: config.allowEIO3,
    trustProxy: config.trustProxy,
    origins: config.corsOrigin ?? [],
    cors: corsOf(config.corsOrigin),
  });
  const relay = new Relay(mesh, engine);
  engine.relay = relay;
  engine.addresses?.share(linksOf(mesh, kinds.addresses));
  engine.attach(app, { secure });
  reportEngine(engine, problems, log);
  return { app, secure, engine, relay };
}

function corsOf(allowed: readonly string[] | undefined) {
  if (!allowed) return undefined;
  if (allowed.includes('*')) return { origin: '*' };
  return {
    origin: (origin: string | undefined, answer: (error: null, isAllowed: boolean) => void) =>
      answer(null, origin !== undefined && isAllowedOrigin(origin, allowed)),
  };
}

/** Builds the Socket.IO server on the engine, with rooms that span the workers. */
export async function buildServer(
  config: Config,
  { engine, mesh, ...reports }: { engine: Engine; mesh: Mesh } & Parameters<typeof backplaneEvents>[1],
): Promise<{ io: Server; backplane: Backplane }> {
  const io = new Server({ serveClient: false, parser });
  const events = backplaneEvents(backplaneNameOf(config), reports);
  const backplane = openBackplane(config, { links: linksOf(mesh), prefix: redisNamesOf(config).channels, events });
  io.adapter(withNativeRooms(backplane.factory, engine) as never);
  io.bind(engine);
  await readyInTime(backplane);
  return { io, backplane };
}
