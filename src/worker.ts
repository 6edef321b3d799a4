import { App, SSLApp, type us_listen_socket, us_listen_socket_close } from 'uWebSockets.js';
import cluster from 'node:cluster';
import { Server } from 'socket.io';
import { startChat } from './chat/chat.js';
import type { ChatServer } from './chat/context.js';
import { kinds, Mesh } from './cluster/mesh.js';
import { type FromPrimary, type FromWorker, MESH_DIRECTORY } from './cluster/protocol.js';
import { idPrefixOf, Relay } from './cluster/relay/relay.js';
import type { Config } from './config/options.js';
import { Engine } from './engine/engine.js';
import { serveHttp } from './http/http.js';
import { createLog } from './log.js';
import { embeddedBus, type WorkerLinks } from './rooms/bus/embedded.js';
import { redisBus } from './rooms/bus/redis.js';
import { type AdapterFactory, withNativeRooms } from './rooms/native-rooms.js';

/** How long a start waits for the bus before it goes on without it, in ms. */
const BUS_TIMEOUT = 5000;

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

  const io: ChatServer = new Server({ serveClient: false });
  io.adapter(withNativeRooms(await joinBus(), engine) as never);
  io.bind(engine as never);
  const chat = startChat(io, id, log);
  closers.push(
    () => io.close(),
    () => chat.close(),
  );
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

  async function joinBus(): Promise<AdapterFactory> {
    if (config.bus === 'embedded' || (config.bus === 'auto' && !config.redisUrl)) return embeddedBus(linksOf(mesh));
    const problem = 'Redis is away: rooms do not span workers and machines';
    const bus = redisBus(config.redisUrl!, {
      onState: (isUp) => {
        if (isUp) problems.delete(problem);
        else problems.add(problem);
        log[isUp ? 'info' : 'error']({ bus: 'redis' }, isUp ? 'the bus is up' : problem);
      },
      onError: (error) => log.debug({ error }, 'Redis connection'),
    });
    closers.push(() => bus.close());
    const timeout = new Promise<void>((resolve) => setTimeout(resolve, BUS_TIMEOUT).unref());
    await Promise.race([bus.ready, timeout]);
    return bus.factory;
  }

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

function linksOf(mesh: Mesh): WorkerLinks {
  return {
    id: mesh.id,
    get members() {
      return mesh.members;
    },
    send: (to, payload) => mesh.send(to, kinds.bus, payload),
    broadcast: (payload) => mesh.broadcast(kinds.bus, payload),
    onMessage: (listener) => mesh.listenTo(kinds.bus, listener),
    onLeave: (listener) => mesh.onLeave(listener),
  };
}
