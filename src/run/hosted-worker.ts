import type { Server } from 'socket.io';
import { setDefaultBus } from '../backplanes/default-bus.js';
import type { Backplane } from '../backplanes/index.js';
import { own } from '../base/owner.js';
import { loadRunConfig } from '../config/load.js';
import { answerPrimary } from '../runtime/answers.js';
import { logFailures } from '../runtime/exceptions.js';
import { atMostEvery } from '../runtime/intervals.js';
import { Departure } from '../runtime/lifecycle/departure.js';
import { stopListening } from '../runtime/lifecycle/stop-listening.js';
import { MachineWorker } from '../runtime/machine-worker.js';
import { namespaceMetrics } from '../runtime/overview/stats.js';
import { forkedSurroundings } from '../runtime/surroundings.js';
import { onServer } from '../server/install.js';
import { SharedListening, shareListening } from '../server/listen/shared-listening.js';
import { windowOf } from '../server/server-window.js';
import { onSessionAdvice } from '../server/session-advice.js';
import { version } from '../version.js';
import { endApplication, holdSignals } from './ending.js';
import { explainAdminPort, warnOfMemoryStore } from './warnings.js';

/** After this time, an application that has not listened is taken for one that does not. In ms. */
const LISTEN_TIMEOUT_MS = 30_000;

/** How long after the first server another one may listen that has Socket.IO, in ms. */
const OWN_PORT_TIMEOUT_MS = 5000;
const NO_OWN_PORT =
  'WORKER_PORTS has no effect: no http.Server of the application with Socket.IO listens on a TCP port. An https.Server cannot ' +
  'have the ports; a proxy adds TLS';

/** Makes this process a worker of `gjallar run`, before the application starts in it. */
export async function startHostedWorker(): Promise<void> {
  const config = loadRunConfig(process.env);
  const worker = await MachineWorker.join(config, version, forkedSurroundings());
  const { orders, log, metrics, servers } = worker;
  holdSignals();
  metrics.add(logFailures(log));
  const { redisUrl, natsUrl } = config;
  onSessionAdvice((advice) => {
    if (!redisUrl && !natsUrl) log.warn(advice);
  });
  onServer((io) => worker.addServer(io));
  setDefaultBus((nsp) => backplaneOf(nsp.server).factory(nsp));
  const ofServer = new WeakMap<Server, Backplane>();
  const backplaneOf = (io: Server): Backplane => {
    const backplane = ofServer.get(io) ?? worker.openBackplane(windowOf(io, config.flushMs));
    ofServer.set(io, backplane);
    return backplane;
  };

  const listening = new SharedListening(
    async (address) => {
      const local = await orders.claim(address);
      await worker.ready();
      return local;
    },
    () => started(true),
    worker.ownPort === undefined ? undefined : { port: worker.ownPort, option: `WORKER_PORTS=${config.workerPorts}` },
    explainAdminPort(config, log),
  );
  shareListening(listening);
  // Makes every copy of socket.io that the application loads run on gjallar.
  const { onRefusedVersion } = await import('../server/register.js');
  onRefusedVersion((reason) => {
    // On stock socket.io, several workers would answer "Session ID unknown" to most clients that poll.
    if (isStarted) log.error(reason);
    else orders.send({ type: 'failed', reason });
  });

  const departure = new Departure(
    {
      engines: worker.engines,
      relays: worker.relays,
      backplanes: worker.backplanes,
      application: { isBusy: () => false, drainGroups: () => [] },
      stopListening: () => stopListening(() => listening.retire()),
      isIdle: () => listening.isIdle,
    },
    orders,
  );
  let isStarted = false;
  const started = (isOnPort: boolean) => {
    if (isStarted) return;
    isStarted = true;
    // By now, the application has loaded its packages.
    warnOfMemoryStore(log);
    departure.listening();
    orders.send({ type: 'listening', isOnPort });
    setTimeout(() => {
      if (worker.ownPort !== undefined && !listening.hasOwnPort) log.warn(NO_OWN_PORT);
    }, OWN_PORT_TIMEOUT_MS).unref();
  };
  setTimeout(() => {
    if (!isStarted) log.warn({ after: LISTEN_TIMEOUT_MS }, 'the application does not listen on any port');
    started(false);
  }, LISTEN_TIMEOUT_MS).unref();

  worker.addClientMetrics([]);
  metrics.add(namespaceMetrics(servers));
  answerPrimary(worker, {
    health: () => worker.healthIn(departure.stateOf(true)),
    metrics: atMostEvery(1000, () => metrics.scrape()),
  });
  const stopped = departure.untilStopped((clients, left) => log.info({ clients, left }, 'stopping'));
  own(
    'stopping',
    stopped.then(() => endApplication(servers)),
  );
}
