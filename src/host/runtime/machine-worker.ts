import { rmdirSync, rmSync } from 'node:fs';
import type { Cluster, Redis, RedisOptions } from 'ioredis';
import type { Logger } from 'pino';
import type { Server } from 'socket.io';
import { GjallarError } from '../../base/errors.js';
import { Figures } from '../../base/figures.js';
import { type HubLink, hubServices } from '../../base/hub-service.js';
import { createLog, logOutput } from '../../base/log.js';
import { hostApplication } from '../../base/process.js';
import { idPrefixOf } from '../../base/worker-name.js';
import { type Backplane, backplaneKindOf, backplaneNameOf } from '../../cluster/backplanes/index.js';
import { HUB, Mesh } from '../../cluster/mesh/mesh.js';
import type { Node } from '../../cluster/node.js';
import { socketOf } from '../../cluster/protocol.js';
import { Relay } from '../../cluster/relay/relay.js';
import { MAX_PART } from '../../cluster/wire/envelope.js';
import type { SharedWindow } from '../../engine/delivery/shared-window.js';
import type { Engine, EngineHost } from '../../engine/engine.js';
import type { EngineOptions } from '../../engine/options.js';
import { socketsInUse } from '../../engine/uws/uws.js';
import { openRooms } from '../../features/state/open-rooms.js';
import type { RunConfig } from '../config/options.js';
import { redisNamesOf } from '../config/redis-names.js';
import { logSessions, logSockets } from '../operations/connection-log.js';
import type { Health } from '../operations/health.js';
import { processReadings } from '../operations/metrics/process.js';
import {
  backplaneReadings,
  busReadings,
  engineReadings,
  namespaceReadings,
  relayReadings,
} from '../operations/metrics/readings.js';
import { RecentEvents } from '../operations/overview/recent-events.js';
import { audited, type Caller, WorkerReports } from '../operations/reports.js';
import { type ApplicationView, ordinaryView } from './application.js';
import { channelPrefixOf, readyInTime, reportBound, reportOutages, wordsOf } from './backplane.js';
import { reportEngine, reportRejections, reportUnknownNamespaces } from './engine-events.js';
import { runEngineOptions } from './engine-options.js';
import { Moves } from './lifecycle/moves.js';
import type { Orders } from './lifecycle/orders.js';
import { openNode, reportHub, reportSilence } from './machines/hub.js';
import { loadBackplane, type OpenBackplane } from './open-bus.js';
import { type Action, defaultSeam, type OperatorSeam, readAction, replyOf, targetOf } from './operator/actions.js';
import { Operator, outcomeOf } from './operator/operator.js';
import { redisClient } from './redis-client.js';
import type { Surroundings } from './surroundings.js';

const RELOAD_ABORTED = 'the last reload was aborted, and the old workers stay; the log of the primary says why';
const UNREAD = 'messages to other workers were lost as this worker ended: a worker did not read them in time';
const PRIMARY_GONE = 'the primary is gone: this worker ends, and its clients are disconnected';

/** How long the end waits until the other workers read what was sent to them, in ms. */
const MAX_WRITE_MS = 2000;

/**
 * A worker of a machine: its links to the other workers, its log and figures, and the engines and backplanes of the
 * application that it runs.
 */
export class MachineWorker implements EngineHost {
  readonly orders: Orders;
  readonly log: Logger;
  readonly figures = new Figures();
  /** Rejected clients, warnings and errors, for the operator. */
  readonly recent = new RecentEvents();
  /** What its parts report. */
  readonly reports: WorkerReports;
  readonly engines: Engine[] = [];
  readonly relays: Relay[] = [];
  readonly backplanes: Backplane[] = [];
  /** The Socket.IO servers of the application. */
  readonly servers: Server[] = [];
  /** How the application takes part in the operator's actions. */
  seam: OperatorSeam = defaultSeam;
  /** What the operator sees of the application. */
  view: ApplicationView = ordinaryView;
  /** Carries out the operator's actions. */
  readonly operator: Operator;
  /** Sessions that go on on another worker, or come from one. */
  readonly moves: Moves;
  /** The state of this worker; set once it has an application. */
  stateOf: () => Health['state'] = () => 'not ready';
  private keeperLink: HubLink | undefined;

  private constructor(
    private readonly config: RunConfig,
    readonly mesh: Mesh,
    surroundings: Surroundings,
    private readonly node: Node,
    private readonly open: OpenBackplane,
  ) {
    const { machine, orders, logTo } = surroundings;
    this.orders = orders;
    this.log = createLog(config.logLevel, { process: 'worker', worker: mesh.id }, this.recent.addLine, logTo);
    this.reports = new WorkerReports(this.log, this.recent, config.variablePrefix);
    hostApplication({
      reports: this.reports,
      stateStore: { redisUrl: config.redisUrl, keyPrefix: redisNamesOf(config).keys },
      engines: this,
      hubLink: (service) => node.service(service),
      numberOf: (io) => Math.max(0, this.servers.indexOf(io as Server)),
    });
    this.figures.add(processReadings());
    this.figures.add(this.reports.readings);
    this.figures.add(namespaceReadings(this.servers));
    this.figures.add(() => ({
      gjallar_mesh_pending_bytes: mesh.pendingBytes,
      gjallar_relay_up: node.isAlone ? undefined : Number(node.isUp),
    }));
    this.operator = new Operator({ worker: `${machine}:${mesh.id}`, machine }, () => this);
    reportHub(node, config);
    this.moves = new Moves(this, node);
    reportSilence(orders);
    surroundings.onGone(() => this.log.fatal(PRIMARY_GONE));
  }

  /** Links this process, a worker, with the other workers of its machine. From then on it hosts all new engines. */
  static async join(config: RunConfig, surroundings: Surroundings): Promise<MachineWorker> {
    const backplane = await loadBackplane(config);
    const { id, directory, orders } = surroundings;
    const mesh = new Mesh(id, directory, (worker) => orders.send({ type: 'stuck', worker }));
    const node = openNode(config, mesh, surroundings.machine);
    await mesh.listen();
    removeWhereOrphaned(directory);
    surroundings.linked();
    await mesh.join((await orders.next('join')).workers);
    return new MachineWorker(config, mesh, surroundings, node, backplane);
  }

  /** The link to the keeper of connection state recovery, which all servers share. */
  private get recoveryLink(): HubLink {
    this.keeperLink ??= this.node.service(hubServices.recovery);
    return this.keeperLink;
  }

  /** The options of an engine: the application's own, and those of the environment for all others. */
  optionsFor(given: EngineOptions): EngineOptions {
    return runEngineOptions(this.config, given, idPrefixOf(this.node.id));
  }

  created(engine: Engine): void {
    const part = this.engines.length;
    checkPart(part, 'engines');
    this.engines.push(engine);
    const relay = new Relay(this.node, engine, part, () => this.moves.successors);
    this.relays.push(relay);
    this.moves.watch(engine, relay);
    engine.relay = relay;
    this.figures.add(() => engineReadings(engine));
    this.figures.add(() => relayReadings(relay));
    reportEngine(engine);
    reportRejections(engine);
    logSessions(engine, this.log);
  }

  /** The application has created a Socket.IO server. */
  addServer(io: Server): void {
    this.servers.push(io);
    this.operator.watch(io);
    reportUnknownNamespaces(io);
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
    checkPart(count, 'Socket.IO servers');
    const backplane = this.open({
      node: this.node,
      part: count,
      window,
      recovery: { link: this.recoveryLink, userOf: (data) => this.seam.userOf({ data }), onBound: reportBound },
      prefix: count === 0 ? prefix : `${prefix}:${count}`,
    });
    const name = backplaneNameOf(config);
    const { isClassic } = backplaneKindOf(name);
    // All others share the hub, which is reported and counted once.
    if (isClassic) reportOutages(backplane.health, wordsOf(name));
    if (isClassic || count === 0) this.figures.add(() => busReadings(backplane));
    backplanes.push(backplane);
    this.figures.add(() => backplaneReadings(backplane));
    return backplane;
  }

  /** Resolves when other workers and machines can be reached, or after a timeout. */
  async ready(): Promise<void> {
    const { backplanes, node } = this;
    const hub = { ready: () => node.busHealth.whenUp() };
    await Promise.all([...backplanes, hub].map(readyInTime));
  }

  /** Drains all workers of the machine. */
  drainMachine(): void {
    this.orders.send({ type: 'leave' });
  }

  /**
   * Carries out what the operator asks for, on all workers and machines, and logs it.
   * @throws GjallarError BAD_INPUT
   */
  async act(caller: Caller, type: Action['type'], input: unknown): Promise<object> {
    const action = readAction(type, input);
    const work = async () => replyOf(action, outcomeOf([await this.operator.actEverywhere(action)]));
    return this.audited(caller, type, targetOf(action), work);
  }

  /** Carries out an action of the operator that is the application's own; see {@link audited}. */
  audited<Result extends object>(
    caller: Caller,
    action: string,
    target: object,
    work: () => Promise<Result> | Result,
  ): Promise<Result> {
    return audited(this.log, caller, action, target, work);
  }

  /** Opens a connection to the Redis of the configuration, and says what its keys begin with; undefined without one. */
  async openRedis(options: RedisOptions): Promise<{ redis: Redis | Cluster; keyPrefix: string } | undefined> {
    const { redisUrl } = this.config;
    if (!redisUrl) return undefined;
    return { redis: await redisClient({ redisUrl }, options), keyPrefix: redisNamesOf(this.config).keys };
  }

  /**
   * Reports why no worker can run with this configuration. The start of the server then fails, and the primary kills this
   * worker, so what it returns never resolves.
   */
  failed(reason: string): Promise<never> {
    this.orders.send({ type: 'failed', reason });
    return new Promise(() => {});
  }

  /** Closes the connections to other workers and machines, once these have what was sent to them. */
  async close(): Promise<void> {
    for (const backplane of this.backplanes) backplane.close();
    const bytes = await this.mesh.written(MAX_WRITE_MS);
    if (bytes > 0) this.log.error({ bytes }, UNREAD);
    this.mesh.close();
  }

  /** What the health endpoints report of this worker. */
  get health(): Health {
    const state = this.stateOf();
    const { problems } = this.reports;
    problems.set('RELOAD_ABORTED', this.orders.last('reloads')?.isLastAborted ? RELOAD_ABORTED : undefined);
    problems.set('STATE_NEARLY_FULL', openRooms.warning);
    problems.set('LOG_LOST', logOutput.warning);
    problems.set('SOCKETS_PORTABLE', socketsInUse.warning);
    return { state, problems: problems.down, warnings: problems.warnings };
  }

  /** Whether this worker does the tasks that one worker per machine must do. */
  isLeader(): boolean {
    return this.mesh.members.every((other) => other > this.mesh.id);
  }
}

function checkPart(part: number, kind: string): void {
  if (part > MAX_PART)
    throw new GjallarError('BAD_CONFIG', `a worker can have ${MAX_PART + 1} ${kind} at most; create fewer of them`);
}

/**
 * Removes the folder of the workers' sockets when this worker exits, if the primary was killed and could not do it.
 * Call it once this worker's own socket exists, so that the socket is removed first.
 */
function removeWhereOrphaned(directory: string): void {
  process.once('exit', () => {
    if (process.connected) return;
    // The hub was a part of the primary.
    rmSync(socketOf(directory, HUB), { force: true });
    try {
      rmdirSync(directory);
    } catch {
      // Other workers still have sockets in it. The last worker removes it.
    }
  });
}
