import type { Config } from '../config/options.js';
import { us_listen_socket_close, us_socket_local_port } from '../engine/sockets.js';
import { adminGuardOf } from '../http/guard.js';
import { serveHealth } from '../operations/health.js';
import { serveMetrics } from '../operations/metrics-endpoint.js';
import { stateStores } from '../rooms/stores.js';
import type { TemplatedApp, us_listen_socket } from '../sockets.js';
import { answerPrimary } from './answers.js';
import type { Application } from './application.js';
import { surviveExceptions } from './exceptions.js';
import { atMostEvery } from './intervals.js';
import { Departure } from './lifecycle/departure.js';
import { listenOn } from './lifecycle/listen.js';
import type { Orders } from './lifecycle/orders.js';
import { stopListening } from './lifecycle/stop-listening.js';
import { MachineWorker } from './machine-worker.js';
import { outcomeOf } from './operator/operator.js';
import { buildEngine, buildServer } from './parts.js';
import type { Surroundings } from './surroundings.js';

/** Runs a worker: builds its parts, starts the application, listens, and shuts down. */
export async function runWorker(
  config: Config,
  version: string,
  application: Application,
  surroundings: Surroundings,
): Promise<void> {
  const worker = await MachineWorker.join(config, version, surroundings);
  const { mesh, orders, log, metrics } = worker;
  metrics.add(surviveExceptions(log));
  const { app, secure, engine } = buildEngine(config);
  const io = await buildServer(worker, engine);
  const failed = (reason: string) => orders.send({ type: 'failed', reason });
  const running = await application.start({
    id: mesh.id,
    log,
    app,
    secure,
    engine,
    io,
    metrics,
    onMalformed: (reason) => worker.malformed.note('application', reason),
    isLeader: () => worker.isLeader(),
    drainMachine: () => orders.send({ type: 'leave' }),
    act: async (action) => outcomeOf([await worker.operator.actEverywhere(action)]),
    failed,
  });
  worker.seam = running.operator;
  worker.addClientMetrics(running.otherClients);

  let listenSockets: us_listen_socket[] = [];
  const departure = new Departure(
    {
      engines: worker.engines,
      relays: worker.relays,
      backplanes: worker.backplanes,
      application: running,
      stopListening: () => stopListening(() => listenSockets.forEach(us_listen_socket_close)),
      isIdle: () => true,
    },
    orders,
  );
  const health = () => worker.healthIn(departure.stateOf(running.isReady()));
  const scrape = atMostEvery(1000, () => metrics.scrape());
  serveHealth(app, engine, { secure, health });
  serveMetrics(app, engine, {
    secure,
    admin: adminGuardOf(config, log),
    metrics: scrape,
    onError: (error) => log.error({ error }, 'a request failed'),
  });
  answerPrimary(worker, { health, metrics: scrape, view: running.view });

  const shared = await listen(app, orders, config, failed);
  listenSockets = [shared];
  if (worker.ownPort !== undefined) listenSockets.push(await listenOnOwn(app, orders, config, worker.ownPort, failed));
  log.info({ port: us_socket_local_port(shared), ownPort: worker.ownPort }, 'listening');
  departure.listening();
  orders.send({ type: 'listening', isOnPort: true });

  await departure.untilStopped((clients, left) => log.info({ clients, left }, 'stopping'));
  running.stop();
  await stateStores.flushed(MAX_STORE_MS);
  await io.close();
  await running.close();
  worker.close();
  mesh.close();
  app.close();
  surroundings.ended();
}

/** How long the end waits until state rooms are stored, in ms. */
const MAX_STORE_MS = 2000;

/** How many ports the system may pick for PORT=0 before listening has failed: others can take each before it is used. */
const PICKED_PORTS = 3;

/** If listening fails, the primary kills this worker; at startup, it ends the server. */
async function listen(
  app: TemplatedApp,
  orders: Orders,
  { host, port }: Config,
  onFailed: (reason: string) => void,
): Promise<us_listen_socket> {
  let taken: number | undefined;
  for (let attempt = 0; attempt < (port === 0 ? PICKED_PORTS : 1); attempt++) {
    const { port: found } = await orders.claim({ host, port, turn: 0, taken });
    const socket = await listenOn(app, host, found);
    if (socket) return socket;
    taken = found;
  }
  onFailed(
    `cannot listen on PORT=${port} at HOST=${host}: another process has taken port ${taken}; start again, or set another PORT`,
  );
  return new Promise(() => {});
}

/** If it fails, the primary is told as for the port that all workers share. */
async function listenOnOwn(
  app: TemplatedApp,
  orders: Orders,
  { host, workerPorts }: Config,
  port: number,
  onFailed: (reason: string) => void,
): Promise<us_listen_socket> {
  const socket = await orders.claim({ host, port, turn: 0 }).then(
    () => listenOn(app, host, port),
    () => undefined,
  );
  if (socket) return socket;
  onFailed(
    `cannot listen on port ${port} at HOST=${host}: another process uses it; stop it, or change WORKER_PORTS=${workerPorts}`,
  );
  return new Promise(() => {});
}
