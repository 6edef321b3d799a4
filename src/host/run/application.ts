import type { Logger } from 'pino';
import type { Server } from 'socket.io';
import { replaceMethod } from '../../base/foreign-objects.private.js';
import { own, raise } from '../../base/owner.js';
import { hostApplication } from '../../base/process.js';
import { within } from '../../base/within.js';
import type { Backplane } from '../../cluster/backplanes/index.js';
import { windowOf } from '../../io/server/default-adapter.js';
import { SharedListening } from '../../io/server/listen/shared-listening.js';
import type { RunConfig } from '../config/options.js';
import { canClash } from '../config/ports.js';
import type { Application, RunningApplication } from '../runtime/application.js';
import type { MachineWorker } from '../runtime/machine-worker.js';
import { passSigterm } from '../runtime/surroundings.js';

/** After this time, an application that has not listened is taken for one that does not. In ms. */
const LISTEN_TIMEOUT_MS = 30_000;

/** How long the drain of a server that ends waits for what the application does at SIGTERM, in ms. */
const MAX_FAREWELL_MS = 3000;

const ENDED =
  'the application has ended without listening on a port; give gjallar run the file that starts the server, or keep the ' +
  'application running';

/** The application of the user, which runs in this process once the worker is ready to host it. */
export function userApplication(config: RunConfig): Application {
  return { survivesExceptions: false, start: (worker) => prepare(config, worker) };
}

async function prepare(config: RunConfig, worker: MachineWorker): Promise<RunningApplication> {
  const { orders, log, servers } = worker;
  const { redisUrl, natsUrl } = config;
  const ofServer = new WeakMap<Server, Backplane>();
  const backplaneOf = (io: Server): Backplane => {
    const backplane = ofServer.get(io) ?? worker.openBackplane(windowOf(io, config.flushMs));
    ofServer.set(io, backplane);
    return backplane;
  };
  let isStarted = false;
  let started = (_isOnPort: boolean): void => {};
  const shutdown = new Shutdown(servers);
  const listens = new Promise<boolean>((resolve) => {
    started = resolve;
  });
  const listening = new SharedListening(
    async (address) => {
      const local = await orders.claim(address);
      await worker.ready();
      return local;
    },
    () => orders.channel.ref(),
    () => started(true),
    explainAdminPort(config, log),
    (error) => own('ending the worker', worker.failed(`the application cannot listen${whyNot(error)}`)),
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
  return {
    listen: async () => {
      // Until it listens, the application ends when it has nothing left to do, as without gjallar.
      orders.channel.unref();
      process.once('beforeExit', () => {
        if (isStarted) return;
        orders.channel.ref();
        own('ending the worker', worker.failed(ENDED));
      });
      setTimeout(() => {
        if (!isStarted)
          log.warn({ code: 'NOT_LISTENING', after: LISTEN_TIMEOUT_MS }, 'the application does not listen on any port');
        started(false);
      }, LISTEN_TIMEOUT_MS).unref();
      const isOnPort = await listens;
      isStarted = true;
      return isOnPort;
    },
    stopListening: () => listening.retire(),
    isReady: () => true,
    isIdle: () => listening.isIdle,
    isBusy: () => false,
    farewell: () => shutdown.begin(),
    stop: () => shutdown.drained(),
    close: async () => {
      // An application that handles SIGTERM ends the process itself; the primary kills it if that takes too long.
      if (shutdown.isHandled()) return new Promise(() => {});
      await Promise.allSettled(servers.map((io) => io.close()));
    },
  };
}

/** Passes SIGTERM on to the application, before or after the drain. */
class Shutdown {
  private results: unknown[] | undefined;
  drained = (): void => {};
  private readonly isDrained = new Promise<void>((resolve) => {
    this.drained = resolve;
  });

  constructor(private readonly servers: readonly Server[]) {}

  /** Resolves when the application has said farewell to its clients. If it closes a server, that waits for the drain. */
  async begin(): Promise<void> {
    const closing = new Promise<void>((resolve) => {
      for (const io of this.servers) {
        replaceMethod(io, 'close', async (_io, args, close) => {
          resolve();
          await this.isDrained;
          await close(...args);
        });
      }
    });
    this.results = passSigterm();
    const settled = Promise.all(this.results.map((result) => Promise.resolve(result).catch(raise)));
    await within(MAX_FAREWELL_MS, Promise.race([settled, closing]));
  }

  /** Whether the application handles SIGTERM. During a reload, it gets the signal now: its clients are on other workers. */
  isHandled(): boolean {
    this.results ??= passSigterm();
    return this.results.length > 0;
  }
}

function whyNot({ code, message, port }: NodeJS.ErrnoException & { port?: number }): string {
  if (code !== 'EADDRINUSE') return `: ${message}`;
  return ` on port ${port}: another program uses it (${code}); stop that program, or let the application use another port`;
}

/** Names the admin port as the reason why a server of the application cannot listen, which the error itself does not. */
function explainAdminPort(
  { adminPort, adminHost }: Pick<RunConfig, 'adminPort' | 'adminHost'>,
  log: Logger,
): (error: NodeJS.ErrnoException) => void {
  let isLogged = false;
  return (error) => {
    const { code, address = '::', port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
    if (isLogged || code !== 'EADDRINUSE' || port !== adminPort || !canClash(address, adminHost)) return;
    isLogged = true;
    log.error(
      `the application cannot listen on port ${port}: ADMIN_PORT=${port} uses it. Set another ADMIN_PORT, or another port ` +
        'of the application.',
    );
  };
}
