import { EventEmitter } from 'node:events';
import { type Namespace, Server } from 'socket.io';
import { hubServices } from '../../src/base/hub-service.js';
import { thisProcess } from '../../src/base/process.js';
import type { Backplane } from '../../src/cluster/backplanes/backplane.js';
import { Hub, type HubParts } from '../../src/cluster/hub/hub.js';
import { hubOn } from '../../src/cluster/hub/open.js';
import { HUB } from '../../src/cluster/mesh/mesh.js';
import { Node } from '../../src/cluster/node.js';
import { Outbox } from '../../src/engine/delivery/outbox.js';
import { ownWindow } from '../../src/engine/delivery/shared-window.js';
import { openHubService as openKeeper } from '../../src/features/recovery/hub-service.js';
import { openHubService as openSequencer } from '../../src/features/state/hub-service.js';
import { loadBackplane } from '../../src/host/runtime/open-bus.js';
import type { Carrier } from './carrier.js';
import type { Connection } from './connection.js';
import { MachineNetwork } from './network.js';
import { type MachineClock, Process, type Scheduler } from './scheduler.js';

/** Loaded before the scheduler owns the time. */
const openEmbedded = await loadBackplane({ bus: 'embedded', redisUrl: undefined });
const openFrames = await loadBackplane({ bus: 'redis-frames', redisUrl: 'redis://simulated' });
const services = { [hubServices.recovery]: openKeeper, [hubServices.state]: openSequencer };

/** How long a session can be recovered, and within what time a server finds a connection dead, in ms. */
export const DURATION_MS = 10_000;
export const PING_MS = 1000;
/** How long the primary takes to start a hub, or a worker, in ms. */
const START_MS = 60;
/** The longest window, in ms. */
const WINDOW_MS = 25;

/** What a simulation is told of the servers. */
export interface MachineEvents {
  onServer(io: Server, worker: Worker): void;
}

/** A worker with a server of Socket.IO. */
export interface Worker {
  readonly machine: Machine;
  readonly number: number;
  /** Names this life of it. */
  readonly name: string;
  readonly process: Process;
  readonly engine: EventEmitter;
  readonly outbox: Outbox;
  io: Server | undefined;
  bus: Backplane | undefined;
}

/** A machine of real parts: a hub and workers, between which only the links are simulated. */
export class Machine {
  readonly clock: MachineClock;
  readonly workers = new Map<number, Worker>();
  hub: { readonly process: Process; readonly hub: Hub } | undefined;
  private readonly network: MachineNetwork;
  private lives = 0;
  private numbers = 0;

  constructor(
    readonly id: string,
    aheadMs: number,
    private readonly scheduler: Scheduler,
    private readonly events: MachineEvents,
    /** What it reaches other machines over, if there are some. */
    private readonly carrier: Carrier | undefined,
  ) {
    this.clock = { aheadMs, startedAheadMs: aheadMs };
    this.network = new MachineNetwork(scheduler, id);
  }

  /** Starts the hub, in the place of one that has ended. */
  startHub(): void {
    const process = new Process(`hub ${this.id}.${this.lives++}`, this.clock);
    this.scheduler.add(this.scheduler.now + START_MS, process, () => {
      const mesh = this.network.open(HUB, process);
      const parts: HubParts = {
        ...{ machine: this.id, mesh: mesh.asMesh, window: ownWindow() },
        isLinked: mesh.join([...this.network.meshes.keys()].filter((id) => id !== HUB)),
        loadService: (service) => services[service as keyof typeof services],
      };
      const { carrier } = this;
      this.hub = { process, hub: carrier ? hubOn(carrier.connect(process), { prefix: '' }, parts) : new Hub(parts) };
    });
    process.onEnd.push(() => {
      this.hub = undefined;
      this.startHub();
    });
  }

  /** Starts one more worker. Clients reach it once it has joined the others. */
  startWorker(): void {
    const number = ++this.numbers;
    const name = `${this.id}w${number}`;
    const process = new Process(name, this.clock);
    const worker: Worker = {
      ...{ machine: this, number, name, process, engine: new EventEmitter(), io: undefined, bus: undefined },
      outbox: new Outbox({ publish: () => false, numSubscribers: () => 0 }, WINDOW_MS),
    };
    process.onEnd.push(() => this.workers.delete(number));
    this.scheduler.add(this.scheduler.now + START_MS, process, async () => {
      const mesh = this.network.open(number, process);
      const node = new Node(mesh.asMesh, this.id, !this.carrier);
      await mesh.join([...this.network.meshes.keys()].filter((id) => id !== number));
      const open = this.carrier ? openFrames : openEmbedded;
      const bus = open({
        ...{ node, window: worker.outbox, prefix: '' },
        recovery: { link: node.service(hubServices.recovery) },
      });
      worker.bus = bus;
      worker.io = this.serve(worker, bus);
      // In place of the other workers of this process, while the application opens its parts.
      thisProcess.hubLink = (service) => node.service(service);
      this.events.onServer(worker.io, worker);
      await bus.ready();
      this.workers.set(number, worker);
    });
  }

  holdLink({ number, name }: Worker, ms: number): void {
    this.network.meshes.get(number)?.holdOne(this.scheduler.random(`links ${name}`), ms);
  }

  private serve({ engine }: Worker, { factory }: Backplane): Server {
    const io = new Server({
      ...{ adapter: adapterOf(factory), serveClient: false, pingInterval: PING_MS, pingTimeout: PING_MS },
      connectionStateRecovery: { maxDisconnectionDuration: DURATION_MS },
    });
    io.bind(engine);
    return io;
  }
}

/** A client has opened a connection. */
export function accept({ engine, outbox }: Worker, connection: Connection): void {
  connection.outbox = outbox;
  engine.emit('connection', connection);
}

/** As socket.io takes it, which calls it with `new`. */
function adapterOf(factory: Backplane['factory']): never {
  return function adapter(nsp: Namespace) {
    return factory(nsp);
  } as never;
}
