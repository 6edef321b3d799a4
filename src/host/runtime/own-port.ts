import { setTimeout as sleep } from 'node:timers/promises';
import { Server } from 'socket.io';
import { Engine } from '../../engine/engine.js';
import * as parser from '../../engine/parser/parser.js';
import { App, SSLApp, us_listen_socket_close, us_socket_local_port } from '../../engine/sockets.js';
import type { TemplatedApp, us_listen_socket } from '../../engine/uws/app.js';
import { atMostEvery } from '../../io/http/at-most-every.js';
import { type AdminGuard, adminGuardOf } from '../../io/http/guard.js';
import { withNativeRooms } from '../../io/rooms/index.js';
import type { Config } from '../config/options.js';
import { serveOperations } from '../operations/health.js';
import { corsOptionsOf } from './engine-options.js';
import type { MachineWorker } from './machine-worker.js';

/** The app of a worker that is a server by itself: its engine, its Socket.IO server, and the port that it listens on. */
export class OwnPort {
  /** Whether the app is an SSLApp. */
  readonly secure: boolean;
  /** Add routes before it listens. */
  readonly app: TemplatedApp;
  readonly engine: Engine;
  /** The guard of the operator's account, if there is one. */
  readonly admin: AdminGuard | undefined;
  private readonly sockets: us_listen_socket[] = [];

  private constructor(
    private readonly worker: MachineWorker,
    private readonly config: Config,
    /** Connected to the engine and the backplane. */
    readonly io: Server,
  ) {
    const { corsOrigin, tlsKey, tlsCert } = config;
    this.secure = tlsKey !== undefined;
    this.app = this.secure ? SSLApp({ key_file_name: tlsKey, cert_file_name: tlsCert }) : App();
    // Without CORS_ORIGIN, only pages of the server itself may connect.
    this.engine = new Engine(corsOrigin ? corsOptionsOf(corsOrigin) : { origins: [] });
    this.admin = adminGuardOf(config, worker.log);
    this.engine.attach(this.app, { secure: this.secure });
  }

  /** Resolves when other workers and machines can be reached, or after a timeout. */
  static async open(worker: MachineWorker, config: Config): Promise<OwnPort> {
    const io = new Server({ serveClient: false, parser });
    const port = new OwnPort(worker, config, io);
    const { engine } = port;
    worker.addServer(io);
    io.adapter(withNativeRooms(worker.openBackplane(engine.outbox).factory, engine) as never);
    io.bind(engine);
    await worker.ready();
    return port;
  }

  /** Resolves once it listens. If that fails, the primary kills this worker; at startup, it ends the server. */
  async listen(): Promise<true> {
    const { app, engine, secure, worker, sockets } = this;
    const { log } = worker;
    serveOperations(app, engine, {
      secure,
      health: () => worker.health,
      admin: this.admin,
      // However many clients ask, the primary is asked once a second.
      metrics: atMostEvery(1000, () => worker.orders.scrape()),
      onError: (error) => log.error({ error }, 'a request failed'),
    });
    const shared = await this.listenShared();
    sockets.push(shared);
    log.info({ port: us_socket_local_port(shared) }, 'listening');
    return true;
  }

  stopListening(): void {
    for (const socket of this.sockets) us_listen_socket_close(socket);
  }

  private async listenShared(): Promise<us_listen_socket> {
    const { app, worker, config } = this;
    const { host, port } = config;
    let taken: number | undefined;
    for (let attempt = 0; attempt < (port === 0 ? PICKED_PORTS : 1); attempt++) {
      const { port: found } = await worker.orders.claim({ host, port, turn: 0, taken });
      const socket = await listenOn(app, host, found);
      if (socket) return socket;
      taken = found;
    }
    return worker.failed(
      `cannot listen on PORT=${port} at HOST=${host}: another process has taken port ${taken}; start again, or set another PORT`,
    );
  }
}

/** How many ports the system may pick for PORT=0 before listening has failed: others can take each before it is used. */
const PICKED_PORTS = 3;
/** How often a worker tries to listen, and how long it waits in between, in ms. */
const ATTEMPTS = 10;
const PAUSE_MS = 100;

/**
 * Listens on a port that the primary has found free. Another process may have it for a moment, such as one that looks for
 * a free port.
 * @returns undefined if the port stays taken
 */
export async function listenOn(app: TemplatedApp, host: string, port: number): Promise<us_listen_socket | undefined> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const socket = await new Promise<us_listen_socket | false>((resolve) => app.listen(host, port, resolve));
    if (socket) return socket;
    await sleep(PAUSE_MS);
  }
  return undefined;
}
