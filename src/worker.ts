import { App, SSLApp, type us_listen_socket, us_listen_socket_close } from 'uWebSockets.js';
import cluster from 'node:cluster';
import { Server } from 'socket.io';
import { TokenAccounts } from './accounts/tokens.js';
import { startChat } from './chat/chat.js';
import type { ChatServer } from './chat/context.js';
import { Mesh } from './cluster/mesh.js';
import { type FromPrimary, type FromWorker, MESH_DIRECTORY } from './cluster/protocol.js';
import { idPrefixOf, Relay } from './cluster/relay/relay.js';
import type { Config } from './config/options.js';
import { Engine } from './engine/engine.js';
import { serveApi } from './http/api.js';
import { serveHttp } from './http/http.js';
import { createLog } from './log.js';
import * as parser from './parser/parser.js';
import { PlainWebSockets } from './plain/plain-websockets.js';
import { busNameOf, openBus } from './rooms/bus/choose.js';
import { withNativeRooms } from './rooms/native-rooms.js';
import { busEvents, linksOf, readyInTime } from './worker-bus.js';
import { openHistory } from './worker-history.js';

/** A worker: builds its parts, wires them, and listens when the primary says so. */
export async function runWorker(config: Config): Promise<void> {
  const id = cluster.worker!.id;
  const log = createLog(config.logLevel, { worker: id });
  const problems = new Set<string>();
  const closers: (() => unknown)[] = [];
  let isReady = false;

  const mesh = new Mesh(id, process.env[MESH_DIRECTORY]!);
  await mesh.listen();
  closers.push(() => mesh.close());
  const orders = receiveOrders();
  tell({ type: 'meshed' });
  await mesh.join((await orders.next('join')).workers);

  const secure = config.tlsKey !== undefined;
  const app = secure ? SSLApp({ key_file_name: config.tlsKey, cert_file_name: config.tlsCert }) : App();
  const engine = new Engine({
    idPrefix: idPrefixOf(id),
    maxHttpBufferSize: config.maxPayload,
    flushMs: config.flushMs,
    cors: config.corsOrigin && { origin: config.corsOrigin.includes('*') ? '*' : config.corsOrigin },
  });
  engine.relay = new Relay(mesh, engine);
  engine.attach(app, { secure });

  const io: ChatServer = new Server({ serveClient: false, parser });
  const bus = openBus(config, linksOf(mesh), busEvents(busNameOf(config), problems, log));
  closers.push(() => bus.close());
  io.adapter(withNativeRooms(bus.factory, engine) as never);
  io.bind(engine as never);
  await readyInTime(bus);
  const kept = await openHistory(config, log, () => mesh.members.every((other) => other > id));
  const { jwtSecret: secret, jwksUrl, jwtIssuer: issuer, jwtAudience: audience } = config;
  const accounts = secret || jwksUrl ? new TokenAccounts({ secret, jwksUrl, issuer, audience }) : undefined;
  const plain = new PlainWebSockets(engine.outbox);
  const chat = startChat(io, { workerId: id, log, history: kept.history, archive: kept.archive, plain, accounts });
  plain.attach(app, chat, { secure });
  closers.push(
    () => kept.close(),
    () => io.close(),
    () => chat.close(),
    () => plain.close(),
  );
  serveApi(app, {
    apiKey: config.apiKey,
    rooms: chat,
    maxBody: config.maxPayload,
    secure,
    onError: (error) => log.error({ error }, 'a call of the API failed'),
  });
  serveHttp(app, () => ({ isReady, problems: [...problems] }));

  const { port } = await orders.next('listen');
  // Where listening fails the primary ends everything.
  const listenSocket = await listen(port);
  isReady = true;
  log.info({ port }, 'listening');
  tell({ type: 'listening' });

  await Promise.race([orders.next('stop'), orders.primaryGone]);
  isReady = false;
  us_listen_socket_close(listenSocket);
  for (const close of closers.reverse()) await close();
  app.close();
  process.exit(0);

  function listen(onPort: number): Promise<us_listen_socket> {
    return new Promise((resolve) => {
      app.listen(config.host, onPort, (socket) => {
        if (socket) resolve(socket);
        else tell({ type: 'failed', reason: `cannot listen on PORT=${onPort} at HOST=${config.host}` });
      });
    });
  }
}

function tell(message: FromWorker): void {
  process.send?.(message);
}

/** The primary's orders, each to be waited for once. */
function receiveOrders() {
  const received = new Map<string, FromPrimary>();
  const waiting = new Map<string, (order: FromPrimary) => void>();
  process.on('message', (order: FromPrimary) => {
    received.set(order.type, order);
    waiting.get(order.type)?.(order);
  });
  return {
    next: <T extends FromPrimary['type']>(type: T): Promise<Extract<FromPrimary, { type: T }>> =>
      new Promise((resolve) => {
        const order = received.get(type);
        const done = resolve as (order: FromPrimary) => void;
        if (order) done(order);
        else waiting.set(type, done);
      }),
    /** Without its primary a worker is nobody's: it stops too. */
    primaryGone: new Promise<void>((resolve) => process.once('disconnect', resolve)),
  };
}
