import { rmdirSync } from 'node:fs';
import type { Logger } from 'pino';
import type { Server } from 'socket.io';
import type { SharedWindow } from '../backplanes/frames/window.js';
import type { Backplane } from '../backplanes/index.js';
import { backplaneNameOf } from '../backplanes/index.js';
import { loadBackplane, type OpenBackplane } from '../backplanes/open.js';
import { Problems } from '../base/problems.js';
import { host, type Reports } from '../base/process.js';
import { kinds, Mesh } from '../cluster/mesh/mesh.js';
import { MAX_PART, MeshParts } from '../cluster/mesh/sub-mesh.js';
import { idPrefixOf, Relay } from '../cluster/relay/relay.js';
import { socketsInUse } from '../compat/uws.js';
import { redisNamesOf } from '../config/redis-names.js';
import type { RunConfig } from '../config/run-options.js';
import { Engine, type EngineHost } from '../engine/engine.js';
import type { EngineOptions } from '../engine/options.js';
import { GjallarError } from '../errors.js';
import { createLog, logOutput } from '../log.js';
import { logSessions, logSockets } from '../operations/connection-log.js';
import { type Health, problemMetrics } from '../operations/health.js';
import { backplaneMetrics } from '../operations/metrics/backplane.js';
import { clientMetrics, type OtherClients, RejectedRequests } from '../operations/metrics/clients.js';
import { durableMetrics, lossMetrics } from '../operations/metrics/durable.js';
import { counter } from '../operations/metrics/metric.js';
import { recoveryMetrics } from '../operations/metrics/recovery.js';
import { relayMetrics } from '../operations/metrics/relay.js';
import { stateMetrics } from '../operations/metrics/state.js';
import { WorkerMetrics } from '../operations/metrics/worker-metrics.js';
import { RecentEvents } from '../operations/overview/recent-events.js';
import { Refusals } from '../operations/refusals.js';
import { stateRooms } from '../rooms/state-figures.js';
import { backplaneEvents, channelPrefixOf, linksOf, readyInTime, reportMalformed } from './backplane.js';
import { reportEngine, reportRefusals, reportUnknownNamespaces } from './engine-events.js';
import { engineOptionsOf } from './engine-options.js';
import type { Orders } from './lifecycle/orders.js';
import { loadMachines, type OpenMachines, type OtherMachines } from './machines/open.js';
import { MalformedMessages } from './malformed.js';
import { Operator } from './operator/operator.js';
import { defaultSeam, type OperatorSeam } from './operator/seam.js';
import type { Surroundings } from './surroundings.js';

const RELOAD_ABORTED = 'the last reload was aborted, and the old workers stay; the log of the primary says why';
const DROPPED_LINES = 'Lines of the log that were lost because it could not be written, or not fast enough.';
const PRIMARY_GONE = 'the primary is gone: this worker ends, and its clients are disconnected';

/**
 * A worker of a machine: its links to the other workers, its log and metrics, and the engines and backplanes of the
 * application that it runs.
 */
export class MachineWorker implements EngineHost, Reports {
  readonly orders: Orders;
  readonly log: Logger;
  readonly metrics: WorkerMetrics;
  readonly malformed: MalformedMessages;
  /** Rejected clients, warnings and errors, for the operator. */
  readonly recent = new RecentEvents();
  /** Takes note of rejected clients. */
  readonly refusals: Refusals;
  /** What is down at present, or needs attention, for the health endpoints. */
  readonly problems = new Problems();
  readonly engines: Engine[] = [];
  readonly relays: Relay[] = [];
  readonly backplanes: Backplane[] = [];
  /** The Socket.IO servers of the application. */
  readonly servers: Server[] = [];
  /** How the application takes part in the operator's actions. */
  seam: OperatorSeam = defaultSeam;
  /** Carries out the operator's actions. */
  readonly operator: Operator;
  /** Clients that are not connected over Engine.IO. */
  otherClients: readonly OtherClients[] = [];
  /** The workers of other machines; undefined if the backplane reaches none. */
  readonly machines: OtherMachines | undefined;
  private readonly parts: MeshParts;
  private readonly rejected = new RejectedRequests();

  private constructor(
    private readonly config: RunConfig,
    version: string,
    readonly mesh: Mesh,
    private readonly surroundings: Surroundings,
    private readonly open: { backplane: OpenBackplane; machines: OpenMachines },
  ) {
    const { machine, orders, logTo } = surroundings;
    this.orders = orders;
    this.log = createLog(config.logLevel, { process: 'worker', worker: mesh.id }, this.recent.addLine, logTo);
    host.reports = this;
    host.stateStore = { redisUrl: config.redisUrl, keyPrefix: redisNamesOf(config).keys };
    this.metrics = new WorkerMetrics(mesh, {
      version,
      workers: config.workers,
      deaths: () => orders.last('deaths')?.count ?? 0,
      reloads: () => orders.last('reloads') ?? { finished: 0, aborted: 0 },
    });
    this.malformed = new MalformedMessages(this.log);
    this.refusals = new Refusals(this.log, this.recent);
    this.parts = new MeshParts(mesh);
    reportMalformed(mesh, this.malformed);
    this.operator = new Operator(
      { worker: `${machine}:${mesh.id}`, machine },
      () => this,
      (reason) => this.malformed.note('application', reason),
    );
    this.metrics.add([counter('gjallar_log_lines_dropped_total', DROPPED_LINES, () => logOutput.dropped)]);
    this.metrics.add([...this.malformed.metrics(), ...problemMetrics(this.problems), ...this.refusals.metrics()]);
    this.machines = open.machines({ worker: mesh.id, machine }, this.malformed);
    Engine.host = this;
    stateRooms.onMalformed = (reason) => this.malformed.note('state', reason);
    surroundings.onGone(() => this.log.fatal(PRIMARY_GONE));
  }

  /** Links this process, a worker, with the other workers of its machine. From then on it hosts all new engines. */
  static async join(config: RunConfig, version: string, surroundings: Surroundings): Promise<MachineWorker> {
    const [backplane, machines] = await Promise.all([loadBackplane(config), loadMachines(config)]);
    const { id, directory, orders } = surroundings;
    const mesh = new Mesh(id, directory, (worker) => orders.send({ type: 'stuck', worker }));
    await mesh.listen();
    removeWhereOrphaned(directory);
    surroundings.linked();
    await mesh.join((await orders.next('join')).workers);
    return new MachineWorker(config, version, mesh, surroundings, { backplane, machines });
  }

  /** The port that only this worker listens on; undefined if there is none. */
  get ownPort(): number | undefined {
    const { workerPorts } = this.config;
    return workerPorts === undefined ? undefined : workerPorts + this.surroundings.place;
  }

  /** The options of an engine: the application's own, and those of the environment for all others. */
  optionsFor(given: EngineOptions): EngineOptions {
    return engineOptionsOf(this.config, given, idPrefixOf(this.mesh.id, this.machines?.id));
  }

  created(engine: Engine): void {
    const part = this.engines.length;
    const links = this.nextPart(part, 'engines');
    this.engines.push(engine);
    const relay = new Relay(links, engine, this.machines?.links.part(part));
    this.relays.push(relay);
    engine.relay = relay;
    this.rejected.watch(engine);
    reportEngine(engine);
    reportRefusals(engine, this.refusals);
    logSessions(engine, this.log);
  }

  /** The application has created a Socket.IO server. */
  addServer(io: Server): void {
    this.servers.push(io);
    this.operator.watch(io);
    reportUnknownNamespaces(io, this.refusals);
    logSockets(io, this.log);
  }

  /**
   * Opens a backplane for one more Socket.IO server.
   * @param window the window of the outbox of its engine
   */
  openBackplane(window: SharedWindow): Backplane {
    const { config, backplanes } = this;
    const count = backplanes.length;
    const prefix = channelPrefixOf(config);
    const links = this.nextPart(count, 'Socket.IO servers');
    const backplane = this.open.backplane({
      links: linksOf(links),
      machine: this.surroundings.machine,
      window,
      recovery: { links: linksOf(links, kinds.recovery), userOf: (data) => this.seam.userOf({ data }) },
      prefix: count === 0 ? prefix : `${prefix}:${count}`,
      events: backplaneEvents(backplaneNameOf(config), this.malformed),
    });
    backplanes.push(backplane);
    return backplane;
  }

  /** Resolves when other workers and machines can be reached, or after a timeout. */
  async ready(): Promise<void> {
    const { backplanes, machines } = this;
    await Promise.all([...backplanes, ...(machines ? [machines] : [])].map(readyInTime));
  }

  /** Closes the connections to other machines. */
  close(): void {
    for (const backplane of this.backplanes) backplane.close();
    this.machines?.close();
  }

  /** Adds the metrics of everything that clients are connected to. */
  addClientMetrics(others: readonly OtherClients[]): void {
    this.otherClients = others;
    const { engines, rejected, backplanes, mesh, relays, machines } = this;
    this.metrics.add([...clientMetrics(engines, rejected, others), ...backplaneMetrics(backplanes, mesh)]);
    this.metrics.add([
      ...relayMetrics(relays, machines?.traffic),
      ...recoveryMetrics(backplanes),
      ...stateMetrics(),
      ...durableMetrics(),
      ...lossMetrics(),
    ]);
  }

  /** What the health endpoints report of this worker in a state. */
  healthIn(state: Health['state']): Health {
    const { problems } = this;
    problems.set('RELOAD_ABORTED', this.orders.last('reloads')?.isLastAborted ? RELOAD_ABORTED : undefined);
    problems.set('STATE_NEARLY_FULL', stateRooms.warning);
    problems.set('LOG_LOST', logOutput.warning);
    problems.set('SOCKETS_PORTABLE', socketsInUse.warning);
    return { state, problems: problems.down, warnings: problems.warnings };
  }

  /** Whether this worker does the tasks that one worker per machine must do. */
  isLeader(): boolean {
    return this.mesh.members.every((other) => other > this.mesh.id);
  }

  private nextPart(part: number, kind: string) {
    if (part > MAX_PART) {
      throw new GjallarError('BAD_CONFIG', `a worker can have ${MAX_PART + 1} ${kind} at most; create fewer of them`);
    }
    return this.parts.part(part);
  }
}

/**
 * Removes the folder of the workers' sockets when this worker exits, if the primary was killed and could not do it.
 * Call it once this worker's own socket exists, so that the socket is removed first.
 */
function removeWhereOrphaned(directory: string): void {
  process.once('exit', () => {
    if (process.connected) return;
    try {
      rmdirSync(directory);
    } catch {
      // Other workers still have sockets in it. The last worker removes it.
    }
  });
}
