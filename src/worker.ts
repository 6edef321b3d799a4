import { App, SSLApp, type us_listen_socket } from 'uWebSockets.js';
import cluster from 'node:cluster';
import { Server } from 'socket.io';
import { TokenAccounts } from './accounts/tokens.js';
import { startChat } from './chat/chat.js';
import type { ChatServer } from './chat/context.js';
import { kinds, Mesh } from './cluster/mesh.js';
import { removeWhereOrphaned } from './cluster/orphaned.js';
import { ALIVE_INTERVAL, type FromPrimary, type FromWorker, MESH_DIRECTORY } from './cluster/protocol.js';
import { idPrefixOf, Relay } from './cluster/relay/relay.js';
import type { Config } from './config/options.js';
import { Engine } from './engine/engine.js';
import type { CloseReason, Session } from './engine/session.js';
import { connections } from './engine/uws-exchange.js';
import { serveApi } from './http/api.js';
import { atMostEvery } from './http/at-most-every.js';
import { Cors } from './http/cors.js';
import { type Health, serveHttp } from './http/http.js';
import { serveMetrics } from './http/metrics.js';
import { MOST_ROOMS } from './http/operator.js';
import { createLog } from './log.js';
import { busMetrics } from './metrics/bus.js';
import { chatMetrics } from './metrics/chat.js';
import { clientMetrics } from './metrics/clients.js';
import { WorkerMetrics } from './metrics/worker-metrics.js';
import * as parser from './parser/parser.js';
import { PlainWebSockets } from './plain/plain-websockets.js';
import { busNameOf, openBus } from './rooms/bus/choose.js';
import { withNativeRooms } from './rooms/native-rooms.js';
import { busEvents, linksOf, readyInTime } from './worker-bus.js';
import { keepSendingAway, sendAway, stopListening } from './worker-departure.js';
import { openHistory } from './worker-history.js';

/** How many bytes of history count as much against `RATE_LIMIT` as one event. */
const HISTORY_BYTES_PER_EVENT = 65_536;

/** A worker: builds its parts, wires them, and listens when the primary says so. */
export async function runWorker(config: Config, version: string): Promise<void> {
  const id = cluster.worker!.id;
  const log = createLog(config.logLevel, { worker: id });
  const problems = new Set<string>();
  const closers: (() => unknown)[] = [];
  let state: Health['state'] = 'not ready';

  const meshDirectory = process.env[MESH_DIRECTORY]!;
  const mesh = new Mesh(id, meshDirectory, (worker) => tell({ type: 'stuck', worker }));
  await mesh.listen();
  removeWhereOrphaned(meshDirectory);
  closers.push(() => mesh.close());
  const orders = receiveOrders();
  tell({ type: 'meshed' });
  setInterval(() => tell({ type: 'alive' }), ALIVE_INTERVAL);
  await mesh.join((await orders.next('join')).workers);

  const { workers } = config;
  const metrics = new WorkerMetrics(mesh, { version, workers, deaths: () => orders.last('deaths')?.count ?? 0 });
  const secure = config.tlsKey !== undefined;
  const app = secure ? SSLApp({ key_file_name: config.tlsKey, cert_file_name: config.tlsCert }) : App();
  const engine = new Engine({
    idPrefix: idPrefixOf(id),
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
    log.info({ reason, address }, 'a client was closed');
  });

  const io: ChatServer = new Server({ serveClient: false, parser });
  const bus = openBus(config, linksOf(mesh), busEvents(busNameOf(config), problems, log));
  closers.push(() => bus.close());
  io.adapter(withNativeRooms(bus.factory, engine) as never);
  io.bind(engine);
  await readyInTime(bus);
  const kept = await openHistory(config, {
    log,
    problems,
    registry: metrics.registry,
    isTrimmer: () => mesh.members.every((other) => other > id),
    failed: (reason) => tell({ type: 'failed', reason }),
  });
  const { jwtSecret: secret, jwksUrl, jwtIssuer: issuer, jwtAudience: audience } = config;
  const accounts = secret || jwksUrl ? new TokenAccounts({ secret, jwksUrl, issuer, audience }) : undefined;
  const plain = new PlainWebSockets(engine);
  const chat = startChat(io, {
    workerId: id,
    log,
    history: kept.history,
    archive: kept.archive,
    plain,
    accounts,
    isOverLimit: engine.messageLimits && ((conn) => (conn as Session).isOverLimit),
    onHistoryRead: (client, { bytes }) => {
      const events = Math.floor(bytes / HISTORY_BYTES_PER_EVENT);
      if (typeof client === 'object' && client !== null) engine.messageLimits?.charge(client, events);
    },
    volatilePresence: config.slowPolicy === 'drop-volatile',
  });
  plain.attach(app, chat, { secure });
  closers.push(
    () => kept.close(),
    () => io.close(),
    () => chat.close(),
    () => plain.close(),
  );
  metrics.add([...clientMetrics(engine, plain), ...chatMetrics(chat), ...busMetrics(bus, mesh)]);
  const served = {
    cors: new Cors(config.corsOrigin),
    secure,
    admin:
      config.adminUser && config.adminPassword ? { user: config.adminUser, password: config.adminPassword } : undefined,
    onError: (error: unknown) => log.error({ error }, 'a request failed'),
  };
  serveApi(app, {
    ...served,
    apiKey: config.apiKey,
    rooms: chat,
    // Who needs a token for each room is not told of all of them.
    namesRooms: !accounts,
    stats: atMostEvery(1000, () => chat.stats(MOST_ROOMS)),
    isProxied: config.trustProxy > 0,
    drain: () => tell({ type: 'leave' }),
    drainTimeout: config.drainTimeout,
    maxBody: config.maxPayload,
  });
  serveMetrics(app, { ...served, metrics: atMostEvery(1000, () => metrics.scrape()) });
  const healthState = () => (state === 'ready' && !kept.isReady() ? 'not ready' : state);
  serveHttp(app, { ...served, health: () => ({ state: healthState(), problems: [...problems] }) });

  const { port } = await orders.next('listen');
  // Where listening fails the primary ends everything.
  const listenSocket = await listen(port);
  state = 'ready';
  log.info({ port }, 'listening');
  tell({ type: 'listening' });

  const serving = { engine, relay, plain, chat };
  const staying = new AbortController();
  const hurry = new AbortController();
  let retired: Promise<void> | undefined;
  const retire = () => {
    state = 'draining';
    connections.areEnding = true;
    retired ??= stopListening(listenSocket);
    return retired;
  };
  void orders.next('leave').then(({ over }) => {
    state = 'draining';
    return keepSendingAway(serving, over, staying.signal);
  });
  void orders.next('retire').then(retire);
  void orders.next('hurry').then(() => hurry.abort());

  const { over } = await orders.next('stop');
  staying.abort();
  const why = retired ? 'restart' : 'stop';
  await retire();
  const { clientsCount } = engine;
  await sendAway(serving, why, over, hurry.signal);
  log.info({ clients: clientsCount, left: engine.clientsCount }, 'stops');
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
  // Without its primary a worker ends at once; until then there may be nobody to tell.
  process.send?.(message, undefined, undefined, () => {});
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
    /** The latest order of a kind; undefined where there was none. */
    last: <T extends FromPrimary['type']>(type: T) =>
      received.get(type) as Extract<FromPrimary, { type: T }> | undefined,
  };
}
