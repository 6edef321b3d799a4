import { randomBytes } from 'node:crypto';
import { Server, type ServerOptions } from 'socket.io';
import type { ProcessHost } from '../../../../src/base/process.js';
import type { Backplane } from '../../../../src/cluster/backplanes/backplane.js';
import { framesBackplane } from '../../../../src/cluster/backplanes/frames/open.js';
import type { PubSub } from '../../../../src/cluster/backplanes/pub-sub.js';
import { RedisPubSub } from '../../../../src/cluster/backplanes/redis/pub-sub.js';
import type { Hub } from '../../../../src/cluster/hub/hub.js';
import { type HubAddress, hubOn, openHub } from '../../../../src/cluster/hub/open.js';
import { HUB, Mesh } from '../../../../src/cluster/mesh/mesh.js';
import { Node } from '../../../../src/cluster/node.js';
import { ownWindow } from '../../../../src/engine/delivery/shared-window.js';
import { App, us_listen_socket_close, us_socket_local_port } from '../../../../src/engine/sockets.js';
import type { TemplatedApp } from '../../../../src/engine/uws/app.js';
import { openHubService } from '../../../../src/features/state/hub-service.js';
import { Engine, type EngineOptions } from '../../../../src/index.js';
import { type AdapterFactory, withNativeRooms } from '../../../../src/io/rooms/native-rooms.js';
import { meshInProcess, turnWindow } from '../../../cluster/support/hub-in-process.js';
import type { Base } from '../../../engine/bases/support/bases.js';
import { temporaryFolder } from '../../../support/folder.js';

/** A server of the test's own, in this process. */
export interface TestNode {
  readonly io: Server;
  readonly engine: Engine;
  readonly url: string;
  /** The URLs of all bases, of which {@link url} is the first. */
  readonly urls: readonly string[];
  close(): Promise<void>;
}

export interface NodeOptions {
  server?: Partial<ServerOptions>;
  engine?: EngineOptions;
  /** The bases on which the one engine has clients. @default the one that the environment chooses */
  bases?: readonly Base[];
}

/** Starts a server on a free port of the loopback interface, for each base. */
export async function startNode(factory: AdapterFactory, options: NodeOptions = {}): Promise<TestNode> {
  const apps = (options.bases ?? [App]).map((base) => base());
  const engine = new Engine(options.engine);
  for (const app of apps) engine.attach(app);
  const io = new Server({ ...options.server, adapter: withNativeRooms(factory, engine) as never });
  io.bind(engine);
  const listening = await Promise.all(apps.map(listen));
  const urls = listening.map((socket) => `http://127.0.0.1:${us_socket_local_port(socket as never)}`);
  return {
    io,
    engine,
    url: urls[0]!,
    urls,
    close: async () => {
      for (const socket of listening) us_listen_socket_close(socket as never);
      await io.close();
      for (const app of apps) app.close();
    },
  };
}

const listen = (app: TemplatedApp): Promise<object> =>
  new Promise((resolve, reject) => {
    app.listen('127.0.0.1', 0, (socket) => (socket ? resolve(socket) : reject(new Error('cannot listen'))));
  });

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
  private ids = 0;
  private hub: { id: string; hub: Hub } | undefined;

  private constructor(private readonly directory: string) {}

  static async start(): Promise<Machine> {
    return new Machine(temporaryFolder());
  }

  /** Gives the machine a hub, in the place of the one that it has. */
  async startHub(id: string, address?: HubAddress): Promise<void> {
    const mesh = new Mesh(HUB, this.directory);
    const linked = mesh.listen().then(() => mesh.join(this.meshes.map((other) => other.id)));
    const hub = await openHub(address, {
      ...{ machine: id, mesh, window: ownWindow(), isLinked: linked, loadService: () => openHubService },
    });
    await linked;
    this.hub = { id, hub };
  }

  /** Ends the hub. */
  stopHub(): void {
    this.hub?.hub.close();
    this.hub = undefined;
  }

  /** The bus of one more worker, which reaches other machines through the hub. */
  openHubBackplane(name: string): Promise<Backplane> {
    return this.openBackplane((node) => framesBackplane(name, { node, window: ownWindow() }), false);
  }

  /**
   * The bus of one more worker, by default the embedded one. Closing it is what its death is to the others.
   * @param open opens a bus on a node
   * @param isAlone whether there are no other machines
   */
  async openBackplane(
    open: (node: Node) => Backplane = (node) => framesBackplane('embedded', { node, window: ownWindow() }),
    isAlone = true,
  ): Promise<Backplane & { readonly hubLink: ProcessHost['hubLink'] }> {
    const mesh = new Mesh(++this.ids, this.directory);
    const node = new Node(mesh, this.hub?.id ?? 'machine0', isAlone);
    await mesh.listen();
    const others = this.meshes.map((other) => other.id);
    await mesh.join([...(this.hub ? [HUB] : []), ...others]);
    this.meshes.push(mesh);
    const bus = open(node);
    return {
      ...bus,
      hubLink: this.hub && ((service) => node.service(service)),
      close: () => {
        if (!this.meshes.includes(mesh)) return;
        bus.close();
        this.meshes = this.meshes.filter((other) => other !== mesh);
        mesh.close();
      },
    };
  }

  /** Sends envelopes to every worker, as one more worker. */
  async send(envelopes: readonly Buffer[]): Promise<void> {
    const mesh = new Mesh(++this.ids, this.directory);
    await mesh.listen();
    await mesh.join(this.meshes.map((other) => other.id));
    this.meshes.push(mesh);
    for (const envelope of envelopes) for (const worker of mesh.members) mesh.send(worker, envelope);
  }

  async remove(): Promise<void> {
    for (const mesh of this.meshes.splice(0)) mesh.close();
    this.stopHub();
  }
}

/** The backplanes of workers on two machines, in turn. */
export async function machinesOn(
  name: string,
  address: HubAddress,
): Promise<{ openBackplane(): Promise<Backplane>; remove(): Promise<void> }> {
  const machines = [await Machine.start(), await Machine.start()] as const;
  for (const [index, machine] of machines.entries()) await machine.startHub(`machine${index}`, address);
  let opened = 0;
  return {
    openBackplane: () => machines[opened++ % 2]!.openHubBackplane(name),
    remove: async () => {
      for (const machine of machines) await machine.remove();
    },
  };
}

/** The bus of the only worker of a machine, which has the hub in its process. */
export function onOwnHub(
  name: string,
  pubSub: PubSub,
  prefix: string,
  machine = randomBytes(6).toString('base64url'),
): Backplane {
  const { worker, hub: hubMesh } = meshInProcess();
  const node = new Node(worker, machine, false);
  const hub = hubOn(pubSub, { prefix }, { machine, mesh: hubMesh, window: turnWindow() });
  const bus = framesBackplane(name, { node, window: ownWindow() });
  return {
    ...bus,
    close: () => {
      bus.close();
      hub.close();
    },
  };
}

/** A bus of frames over Redis, of the only worker of a machine of its own. */
export function onRedisFrames(url: string, prefix = 'socket.io', machine?: string): Backplane {
  return onOwnHub('redis-frames', new RedisPubSub(url), prefix, machine);
}
