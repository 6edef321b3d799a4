import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { hubServices } from '../../src/base/hub-service.js';
import { version } from '../../src/base/package.js';
import { Problems } from '../../src/base/problems.js';
import { openHub } from '../../src/cluster/hub/open.js';
import { HUB, Mesh } from '../../src/cluster/mesh/mesh.js';
import { type FromWorker, Questions } from '../../src/cluster/protocol.js';
import { ownWindow } from '../../src/engine/delivery/shared-window.js';
import { connections } from '../../src/engine/http/exchange.js';
import { openHubService as openRecovery } from '../../src/features/recovery/hub-service.js';
import { openHubService as openState } from '../../src/features/state/hub-service.js';
import { loadConfig } from '../../src/host/config/load.js';
import { MachineFigures, type ReportsByWorker } from '../../src/host/operations/metrics/machine-figures.js';
import { Orders } from '../../src/host/runtime/lifecycle/orders.js';
import { hubAddressOf } from '../../src/host/runtime/machines/hub-address.js';
import { startWorker } from '../../src/host/runtime/worker.js';
import { chatApplication } from '../../src/service/chat/application.js';
import { Lines } from './lines.js';
import type { LogLine } from './server.js';
import { shared } from './shared.js';

/** The chat service with one worker, in the process of the test. */
export interface ServiceHere {
  readonly url: string;
  readonly port: number;
  readonly log: readonly LogLine[];
  /** Resolves with the first log line, past or to come, that fits. */
  logged(fits: (line: LogLine) => boolean): Promise<LogLine>;
  /** Stops it in order. */
  stop(): Promise<void>;
  /** Stops it and starts it again on the same port, with the same messages. */
  restart(): Promise<void>;
}

/** The log of a worker, as it is written. */
class CollectedLog extends Lines<LogLine> {
  readonly sink = new Writable({
    write: (chunk, _encoding, done) => {
      for (const line of String(chunk).split('\n')) if (line) this.add(JSON.parse(line));
      done();
    },
  });
}

/**
 * Starts a worker of the chat service in this process, on a free port of the loopback interface. It takes what
 * startServer() of server.ts takes. It has no primary: use startServer() for tests of several workers, of the admin port,
 * of reloads, or of the end of a process. Of several at once, only the latest has state rooms.
 */
export async function startServiceHere(environment: Record<string, string> = {}): Promise<ServiceHere> {
  if ((environment.WORKERS ?? '1') !== '1' || environment.ADMIN_PORT !== undefined) {
    throw new Error('Several workers and the admin port need a primary: use startServer().');
  }
  const dataDir = await mkdtemp(join(tmpdir(), 'gjallar-here-'));
  const meshes = await mkdtemp(join(tmpdir(), 'gjallar-mesh-'));
  const log = new CollectedLog();
  let running = await launch(0);

  async function launch(port: number) {
    const given = {
      HOST: '127.0.0.1',
      DATA_DIR: dataDir,
      RATE_LIMIT: 'off',
      MAX_CONNECTIONS_PER_IP: '0',
      ...environment,
      WORKERS: '1',
      PORT: `${port}`,
    };
    const config = loadConfig(given);
    let fail: (error: Error) => void = () => {};
    const failed = new Promise<never>((_resolve, reject) => {
      fail = reject;
    });
    const orders: Orders = new Orders((message) => answer(message));
    const questions = new Questions();
    const ask = (_worker: number, id: number) => orders.receive({ type: 'ask', id, question: 'figures' });
    const machine = new MachineFigures(
      async () => (await questions.ask([1], 1000, ask)) as ReportsByWorker,
      () => ({
        ...{
          configuredWorkers: 1,
          isStarting: false,
          isLeaving: false,
          isOnPort: true,
          logWarning: undefined,
          problems: new Problems(),
        },
        ...{ version, deaths: 0, reloads: { finished: 0, aborted: 0 } },
      }),
    );
    const answer = (message: FromWorker) => {
      // The primary of one worker: it grants each address, and reads the metrics.
      if (message.type === 'claim') {
        const { address, id } = message;
        const local = { address: address.host ?? '', family: 'IPv4', port: address.port };
        queueMicrotask(() => orders.receive({ type: 'claimed', id, local }));
      }
      if (message.type === 'scrape') {
        const { id } = message;
        void machine.metrics().then((text) => orders.receive({ type: 'scraped', id, text }));
      }
      if (message.type === 'answer') questions.answered(1, message.id, message.answer);
      if (message.type === 'failed') fail(new Error(message.reason));
    };
    const hubMesh = new Mesh(HUB, meshes);
    const hub = await openHub(hubAddressOf(config), {
      ...{ machine: 'machine0', mesh: hubMesh, window: ownWindow(), isLinked: Promise.resolve() },
      loadService: (service) => (service === hubServices.state ? openState : openRecovery),
    });
    await hubMesh.listen();
    orders.receive({ type: 'join', workers: [HUB] });
    const before = log.all.length;
    const started = startWorker(config, chatApplication(config), {
      ...{ id: 1, directory: meshes, machine: 'machine0', place: 0, orders, logTo: log.sink },
      linked: () => {},
      onGone: () => {},
      ended: () => {},
    });
    const stopped = started.then((worker) => worker.stopped);
    const listening = log.first((line) => line.msg === 'listening' && log.all.indexOf(line) >= before);
    const line = await Promise.race([listening, failed, stopped.then(() => ({}) as LogLine)]);
    return { port: line.port as number, orders, stopped, hub };
  }

  async function end(): Promise<void> {
    running.orders.receive({ type: 'stop', over: 0 });
    await running.stopped;
    running.hub.close();
  }

  return {
    get url() {
      return `${environment.TLS_KEY ? 'https' : 'http'}://127.0.0.1:${running.port}`;
    },
    get port() {
      return running.port;
    },
    log: log.all,
    logged: (fits) => log.first(fits),
    stop: async () => {
      await end();
      connections.areEnding = false;
      for (const folder of [dataDir, meshes]) await rm(folder, { recursive: true, force: true });
      log.sink.end();
      await once(log.sink, 'close');
    },
    restart: async () => {
      await end();
      connections.areEnding = false;
      running = await launch(running.port);
    },
  };
}

/** One for all tests of a block. */
export const sharedService = (environment?: Record<string, string>): ServiceHere =>
  shared(
    () => startServiceHere(environment),
    (service) => service.stop(),
  );
