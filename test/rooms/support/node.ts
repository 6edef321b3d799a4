import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, type ServerOptions } from 'socket.io';
import type { Backplane, BackplaneEvents, BackplaneSurroundings } from '../../../src/backplanes/backplane.js';
import { embeddedBackplane } from '../../../src/backplanes/embedded/embedded.js';
import { HubClient } from '../../../src/backplanes/frames/hub/hub-client.js';
import { hubBackplane } from '../../../src/backplanes/frames/hub/open.js';
import { ownWindow, turnWindow } from '../../../src/backplanes/frames/links.js';
import { natsBackplane } from '../../../src/backplanes/nats/pub-sub.js';
import { redisFramesBackplane, shardedFramesBackplane } from '../../../src/backplanes/redis/frames.js';
import type { ProcessHost } from '../../../src/base/process.js';
import type { WorkerLinks } from '../../../src/base/worker-links.js';
import type { Hub } from '../../../src/cluster/hub/hub.js';
import { hubOnMesh, workersOnMesh } from '../../../src/cluster/hub/mesh-hub.js';
import { type HubAddress, openHub } from '../../../src/cluster/hub/open.js';
import { linkInProcess } from '../../../src/cluster/hub/own-hub.js';
import { HUB, kinds, Mesh } from '../../../src/cluster/mesh/mesh.js';
import { App, us_listen_socket_close, us_socket_local_port } from '../../../src/engine/sockets.js';
import { Engine, type EngineOptions } from '../../../src/index.js';
import { type AdapterFactory, withNativeRooms } from '../../../src/rooms/native-rooms.js';
import { linksOf } from '../../../src/runtime/backplane.js';
import { openHubService } from '../../../src/state/hub-service.js';
import type { Base } from '../../bases/support/bases.js';

/** A server of the test's own, in this process. */
export interface TestNode {
  readonly io: Server;
  readonly engine: Engine;
  readonly url: string;
  close(): Promise<void>;
}

export interface NodeOptions {
  server?: Partial<ServerOptions>;
  engine?: EngineOptions;
  /** @default the one that the environment chooses */
  base?: Base;
}

/** Starts a server on a free port of the loopback interface. */
export async function startNode(factory: AdapterFactory, options: NodeOptions = {}): Promise<TestNode> {
  const app = (options.base ?? App)();
  const engine = new Engine(options.engine);
  engine.attach(app);
  const io = new Server({ ...options.server, adapter: withNativeRooms(factory, engine) as never });
  io.bind(engine);
  const listenSocket = await new Promise<object>((resolve, reject) => {
    app.listen('127.0.0.1', 0, (socket) => (socket ? resolve(socket) : reject(new Error('cannot listen'))));
  });
  return {
    io,
    engine,
    url: `http://127.0.0.1:${us_socket_local_port(listenSocket as never)}`,
    close: async () => {
      us_listen_socket_close(listenSocket as never);
      await io.close();
      app.close();
    },
  };
}

/** A node that is joined with others by a bus. */
export async function startMember(bus: Backplane, options: NodeOptions = {}): Promise<TestNode & { bus: Backplane }> {
  const node = await startNode(bus.factory, options);
  await bus.ready();
  return {
    ...node,
    bus,
    close: async () => {
      await node.close();
      bus.close();
    },
  };
}

/** The meshes of several workers, as on one machine. */
export class Machine {
  private meshes: Mesh[] = [];
  /** The ids of workers in processes of their own. */
  private readonly outside: number[] = [];
  private ids = 0;
  private hub: { id: string; hub: Hub } | undefined;

  private constructor(private readonly directory: string) {}

  static async start(): Promise<Machine> {
    return new Machine(await mkdtemp(join(tmpdir(), 'gjallar-mesh-')));
  }

  /** Gives the machine a hub, in the place of the one that it has. */
  async startHub(id: string, address?: HubAddress): Promise<void> {
    const mesh = new Mesh(HUB, this.directory);
    const workers = workersOnMesh(mesh);
    const linked = mesh.listen().then(() => mesh.join(this.meshes.map((other) => other.id)));
    const hub = await openHub(address, {
      ...{ machine: id, workers, window: ownWindow(), isLinked: linked, loadService: () => openHubService },
    });
    await linked;
    this.hub = { id, hub };
  }

  /** The bus of one more worker, which reaches other machines through the hub. */
  openHubBackplane(name: string, events: BackplaneEvents): Promise<Backplane> {
    const { id } = this.hub!;
    return this.openBackplane((links, hub) =>
      hubBackplane(name, { links, machine: id, window: ownWindow(), hub: hub!, prefix: '', events }),
    );
  }

  /**
   * The bus of one more worker, by default the embedded one. Closing it is what its death is to the others.
   * @param open opens a bus that uses the mesh
   */
  async openBackplane(
    open: (links: WorkerLinks, hub: HubClient | undefined) => Backplane = (links) => embeddedBackplane(links),
  ): Promise<Backplane & { readonly hubLink: ProcessHost['hubLink'] }> {
    const mesh = new Mesh(++this.ids, this.directory);
    const client = this.hub && new HubClient(mesh.id, this.hub.id, hubOnMesh(mesh));
    await mesh.listen();
    const others = this.meshes.map((other) => other.id);
    await mesh.join([...(this.hub ? [HUB] : []), ...others, ...this.outside]);
    this.meshes.push(mesh);
    const bus = open(linksOf(mesh), client);
    return {
      ...bus,
      hubLink: client && ((service) => client.service(service)),
      close: () => {
        if (!this.meshes.includes(mesh)) return;
        bus.close();
        this.meshes = this.meshes.filter((other) => other !== mesh);
        mesh.close();
      },
    };
  }

  /**
   * Adds a worker that runs in a process of its own; see worker-process.ts.
   * @param start is called with the folder of the mesh, the worker's id, and the ids of the workers to join
   */
  async addProcess(start: (folder: string, id: string, others: string[]) => Promise<ChildProcess>) {
    const id = ++this.ids;
    const child = await start(
      this.directory,
      `${id}`,
      this.meshes.map((other) => `${other.id}`),
    );
    this.outside.push(id);
    child.once('exit', () => this.outside.splice(this.outside.indexOf(id), 1));
    return child;
  }

  /** Sends payloads to the embedded bus of every worker, as one more worker. */
  async send(payloads: readonly Uint8Array[]): Promise<void> {
    const mesh = new Mesh(++this.ids, this.directory);
    await mesh.listen();
    await mesh.join(this.meshes.map((other) => other.id));
    this.meshes.push(mesh);
    for (const payload of payloads) mesh.broadcast(kinds.bus, payload);
  }

  async remove(): Promise<void> {
    for (const mesh of this.meshes.splice(0)) mesh.close();
    this.hub?.hub.close();
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** The backplanes of workers on two machines, in turn. */
export async function machinesOn(
  open: (links: WorkerLinks, machine: string) => Backplane,
): Promise<{ openBackplane(): Promise<Backplane>; remove(): Promise<void> }> {
  const machines = [await Machine.start(), await Machine.start()] as const;
  let opened = 0;
  return {
    openBackplane: () => {
      const index = opened++ % 2;
      return machines[index]!.openBackplane((links) => open(links, index === 0 ? 'machine0' : 'machine1'));
    },
    remove: async () => {
      for (const machine of machines) await machine.remove();
    },
  };
}

/** The backplanes of workers on two machines with a hub each, in turn. */
export async function hubMachinesOn(
  name: string,
  address: HubAddress,
  events: BackplaneEvents = { onDown: () => {}, onUp: () => {} },
): Promise<{ openBackplane(): Promise<Backplane>; remove(): Promise<void> }> {
  const machines = [await Machine.start(), await Machine.start()] as const;
  for (const [index, machine] of machines.entries()) await machine.startHub(`machine${index}`, address);
  let opened = 0;
  return {
    openBackplane: () => machines[opened++ % 2]!.openHubBackplane(name, events),
    remove: async () => {
      for (const machine of machines) await machine.remove();
    },
  };
}

/** The bus of the only worker of a machine, which has the hub in its process. */
export async function onOwnHub(address: HubAddress, events: BackplaneEvents, machine?: string): Promise<Backplane> {
  const alone = aloneOnMachine(machine);
  const { link, workers } = linkInProcess(alone.links.id);
  const client = new HubClient(alone.links.id, alone.machine, link);
  const hub = await openHub(address, { machine: alone.machine, workers, window: turnWindow() });
  const bus = hubBackplane('redis-hub', { ...alone, hub: client, prefix: '', events });
  return {
    ...bus,
    close: () => {
      bus.close();
      hub.close();
    },
  };
}

/** A bus of frames over Redis, of the only worker of a machine of its own. */
export function onRedisFrames(url: string, events: BackplaneEvents, prefix = 'socket.io', machine?: string): Backplane {
  return redisFramesBackplane({ ...aloneOnMachine(machine), url, prefix, events });
}

/** The same on a Redis Cluster. */
export function onShardedFrames(
  url: string,
  events: BackplaneEvents,
  prefix = 'socket.io',
  machine?: string,
): Backplane {
  return shardedFramesBackplane({ ...aloneOnMachine(machine), url, prefix, events });
}

/** A worker that is alone on its machine, on NATS. */
export function onNats(
  url: string,
  events: BackplaneEvents,
  options: Partial<Pick<BackplaneSurroundings, 'prefix' | 'credentials'>> = {},
): Backplane {
  return natsBackplane({ ...aloneOnMachine(), url, prefix: 'gjallar', events, ...options });
}

function aloneOnMachine(machine = randomBytes(6).toString('base64url')) {
  const links: WorkerLinks = {
    ...{ id: 1, members: [] },
    send: () => false,
    broadcast: () => {},
    onMessage: () => {},
    onLeave: () => {},
  };
  return { links, machine, window: ownWindow() };
}
