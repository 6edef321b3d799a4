import type { TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import { us_listen_socket_close, us_socket_local_port } from '../compat/uws.js';
import type { Config } from '../config/options.js';
import { adminOf } from '../http/guard.js';
import { CertificateWatch, certificateMetrics } from '../operations/certificate.js';
import { serveHealth } from '../operations/health.js';
import { serveMetrics } from '../operations/metrics-endpoint.js';
import { answerPrimary } from './answers.js';
import type { Application } from './application.js';
import { surviveExceptions } from './exceptions.js';
import { atMostEvery } from './intervals.js';
import { Departure } from './lifecycle/departure.js';
import { listenOn } from './lifecycle/listen.js';
import { type Orders, sendToPrimary } from './lifecycle/orders.js';
import { stopListening } from './lifecycle/stop-listening.js';
import { MachineWorker } from './machine-worker.js';
import { outcomeOf } from './operator/operator.js';
import { buildEngine, buildServer } from './parts.js';

/** Runs a worker: builds its parts, starts the application, listens, and shuts down. */
export async function runWorker(config: Config, version: string, application: Application): Promise<void> {
  const worker = await MachineWorker.join(config, version);
  const { mesh, orders, log, metrics, problems } = worker;
  metrics.add(surviveExceptions(log));
  metrics.add(certificateMetrics(config.tlsCert ? new CertificateWatch(config.tlsCert, worker) : undefined));
  const { app, secure, engine } = buildEngine(config);
  const io = await buildServer(worker, engine);
  const failed = (reason: string) => sendToPrimary({ type: 'failed', reason });
  const running = await application.start({
    id: mesh.id,
    log,
    app,
    secure,
    engine,
    io,
    problems,
    metrics,
    onMalformed: (reason) => worker.malformed.note('application', reason),
    isLeader: () => worker.isLeader(),
    drainMachine: () => sendToPrimary({ type: 'leave' }),
    act: async (action) => outcomeOf([await worker.operator.actEverywhere(action)]),
    failed,
  });
  worker.seam = running.operator;
  worker.addClientMetrics(running.otherClients);

  let listenSocket: us_listen_socket | undefined;
  const departure = new Departure(
    {
      engines: worker.engines,
      relays: worker.relays,
      backplanes: worker.backplanes,
      servers: worker.servers,
      application: running,
      stopListening: () => stopListening(() => us_listen_socket_close(listenSocket!)),
      isIdle: () => true,
    },
    orders,
  );
  const health = () => worker.healthIn(departure.stateOf(running.isReady()));
  const scrape = atMostEvery(1000, () => metrics.scrape());
  serveHealth(app, engine, { secure, health });
  serveMetrics(app, engine, {
    secure,
    admin: adminOf(config),
    metrics: scrape,
    onError: (error) => log.error({ error }, 'a request failed'),
  });
  answerPrimary(worker, { health, metrics: scrape, view: running.view });

  listenSocket = await listen(app, orders, config, failed);
  log.info({ port: us_socket_local_port(listenSocket) }, 'listening');
  departure.listening();
  sendToPrimary({ type: 'listening' });

  await departure.untilStopped((clients, left, given) => log.info({ clients, left, ...given }, 'stopping'));
  running.stop();
  await io.close();
  await running.close();
  worker.close();
  mesh.close();
  app.close();
  process.exit(0);
}

/** If listening fails, the primary kills this worker; at startup, it ends the server. */
async function listen(
  app: TemplatedApp,
  orders: Orders,
  { host, port }: Config,
  onFailed: (reason: string) => void,
): Promise<us_listen_socket> {
  const { port: found } = await orders.claim({ host, port, turn: 0 });
  const socket = await listenOn(app, host, found);
  if (socket) return socket;
  onFailed(
    `cannot listen on PORT=${port} at HOST=${host}: another process has taken port ${found}; start again, or set another PORT`,
  );
  return new Promise(() => {});
}
