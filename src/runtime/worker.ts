import type { TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import type { Config } from '../config/options.js';
import { adminOf } from '../http/guard.js';
import { createLog } from '../log.js';
import { logConnections } from '../operations/connection-log.js';
import { problemMetrics, serveHealth } from '../operations/health.js';
import { backplaneMetrics } from '../operations/metrics/backplane.js';
import { clientMetrics } from '../operations/metrics/clients.js';
import { WorkerMetrics } from '../operations/metrics/worker-metrics.js';
import { serveMetrics } from '../operations/metrics-endpoint.js';
import { Refusals } from '../operations/refusals.js';
import type { Application } from './application.js';
import { reportMalformed } from './backplane.js';
import { Departure, type ServingParts } from './departure.js';
import { reportRefusals } from './engine-events.js';
import { surviveExceptions } from './exceptions.js';
import { atMostEvery } from './intervals.js';
import { MalformedMessages } from './malformed.js';
import { sendToPrimary } from './orders.js';
import { buildEngine, buildServer, joinMachine } from './parts.js';

/** Runs a worker: builds its parts, starts the application, listens when the primary says so, and shuts down. */
export async function runWorker(config: Config, version: string, application: Application): Promise<void> {
  const problems = new Set<string>();
  const { mesh, orders } = await joinMachine();
  const log = createLog(config.logLevel, { process: 'worker', worker: mesh.id });
  const deaths = () => orders.last('deaths')?.count ?? 0;
  const metrics = new WorkerMetrics(mesh, { version, workers: config.workers, deaths });
  metrics.add(surviveExceptions(log));
  metrics.add(problemMetrics(problems));
  const malformed = new MalformedMessages(log);
  reportMalformed(mesh, malformed);
  metrics.add(malformed.metrics());
  const { app, secure, engine, relay } = buildEngine(config, { mesh, problems, log });
  const { io, backplane } = await buildServer(config, { engine, mesh, problems, malformed, log });
  const refusals = new Refusals(log);
  metrics.add(refusals.metrics());
  reportRefusals(engine, io, refusals);
  logConnections(engine, io, log);
  const running = await application.start({
    id: mesh.id,
    log,
    app,
    secure,
    engine,
    io,
    problems,
    metrics,
    onMalformed: (reason) => malformed.note('application', reason),
    isLeader: () => mesh.members.every((other) => other > mesh.id),
    drainMachine: () => sendToPrimary({ type: 'leave' }),
    failed: (reason) => sendToPrimary({ type: 'failed', reason }),
  });
  metrics.add([...clientMetrics(engine, running.otherClients), ...backplaneMetrics(backplane, mesh)]);

  const serving: ServingParts = { engine, relay, application: running };
  const departure = new Departure(serving, orders);
  const health = () => ({ state: departure.stateOf(running.isReady()), problems: [...problems] });
  serveHealth(app, engine, { secure, health });
  serveMetrics(app, engine, {
    secure,
    admin: adminOf(config),
    metrics: atMostEvery(1000, () => metrics.scrape()),
    onError: (error) => log.error({ error }, 'a request failed'),
  });

  const { port } = await orders.next('listen');
  departure.listening(await listen(app, config.host, port));
  log.info({ port }, 'listening');
  sendToPrimary({ type: 'listening' });

  await departure.untilStopped((clients, left) => log.info({ clients, left }, 'stopping'));
  running.stop();
  await io.close();
  await running.close();
  backplane.close();
  mesh.close();
  app.close();
  process.exit(0);
}

/** If listening fails, the primary kills this worker; at startup, it ends the server. */
function listen(app: TemplatedApp, host: string, port: number): Promise<us_listen_socket> {
  return new Promise((resolve) => {
    app.listen(host, port, (socket) => {
      if (socket) resolve(socket);
      else sendToPrimary({ type: 'failed', reason: `cannot listen on PORT=${port} at HOST=${host}` });
    });
  });
}
