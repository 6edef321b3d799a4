import type { Server } from 'socket.io';
import { own } from '../../base/owner.js';
import { hostApplication } from '../../base/process.js';
import type { Backplane } from '../../cluster/backplanes/index.js';
import { windowOf } from '../../io/server/default-adapter.js';
import { SharedListening } from '../../io/server/listen/shared-listening.js';
import type { RunConfig } from '../config/options.js';
import type { Application, RunningApplication } from '../runtime/application.js';
import type { MachineWorker } from '../runtime/machine-worker.js';
import { namespaceMetrics } from '../runtime/overview/stats.js';
import { passSigterm } from '../runtime/surroundings.js';
import { explainAdminPort, warnOfMemoryStore } from './warnings.js';

/** After this time, an application that has not listened is taken for one that does not. In ms. */
const LISTEN_TIMEOUT_MS = 30_000;

/** How long after the first server another one may listen that has Socket.IO, in ms. */
const OWN_PORT_TIMEOUT_MS = 5000;
const NO_OWN_PORT =
  'WORKER_PORTS has no effect: no http.Server of the application with Socket.IO listens on a TCP port. An https.Server cannot ' +
  'have the ports; a proxy adds TLS';

/** The application of the user, which runs in this process once the worker is ready to host it. */
export function userApplication(config: RunConfig): Application {
  return { survivesExceptions: false, start: (worker) => prepare(config, worker) };
}

async function prepare(config: RunConfig, worker: MachineWorker): Promise<RunningApplication> {
  const { orders, log, ownPort, servers } = worker;
  const { redisUrl, natsUrl } = config;
  const ofServer = new WeakMap<Server, Backplane>();
  const backplaneOf = (io: Server): Backplane => {
    const backplane = ofServer.get(io) ?? worker.openBackplane(windowOf(io, config.flushMs));
    ofServer.set(io, backplane);
    return backplane;
  };
  let isStarted = false;
  let started = (_isOnPort: boolean): void => {};
  const listens = new Promise<boolean>((resolve) => {
    started = resolve;
  });
  const listening = new SharedListening(
    async (address) => {
      const local = await orders.claim(address);
      await worker.ready();
      return local;
    },
    () => started(true),
    ownPort === undefined ? undefined : { port: ownPort, option: `WORKER_PORTS=${config.workerPorts}` },
    explainAdminPort(config, log),
  );
  listening.install();
  hostApplication({
    sharedPorts: listening,
    adapter: (nsp) => backplaneOf(nsp.server).factory(nsp),
    onServer: (io) => worker.addServer(io),
    onSessionAdvice: (advice) => {
      if (!redisUrl && !natsUrl) log.warn(advice);
    },
    onRefusedVersion: (reason) => {
      // On stock socket.io, several workers would answer "Session ID unknown" to most clients that poll.
      if (isStarted) log.error(reason);
      else own('ending the worker', worker.failed(reason));
    },
  });
  // Makes every copy of socket.io that the application loads run on gjallar.
  await import('../../io/server/register.js');
  worker.metrics.add(namespaceMetrics(servers));
  return {
    listen: async () => {
      setTimeout(() => {
        if (!isStarted) log.warn({ after: LISTEN_TIMEOUT_MS }, 'the application does not listen on any port');
        started(false);
      }, LISTEN_TIMEOUT_MS).unref();
      const isOnPort = await listens;
      isStarted = true;
      // By now, the application has loaded its packages.
      warnOfMemoryStore(log);
      setTimeout(() => {
        if (ownPort !== undefined && !listening.hasOwnPort) log.warn(NO_OWN_PORT);
      }, OWN_PORT_TIMEOUT_MS).unref();
      return isOnPort;
    },
    stopListening: () => listening.retire(),
    isReady: () => true,
    isIdle: () => listening.isIdle,
    isBusy: () => false,
    drainGroups: () => [],
    otherClients: [],
    stop: () => {},
    close: async () => {
      // An application that handles SIGTERM ends the process itself; the primary kills it if that takes too long.
      if (passSigterm()) return new Promise(() => {});
      await Promise.allSettled(servers.map((io) => io.close()));
    },
  };
}
