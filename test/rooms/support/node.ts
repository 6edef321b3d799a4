import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, type ServerOptions } from 'socket.io';
import type { Backplane, BackplaneEvents, BackplaneSurroundings } from '../../../src/backplanes/backplane.js';
import { embeddedBackplane } from '../../../src/backplanes/embedded/embedded.js';
import { ownWindow } from '../../../src/backplanes/frames/links.js';
import { natsBackplane } from '../../../src/backplanes/nats/pub-sub.js';
import { redisFramesBackplane, shardedFramesBackplane } from '../../../src/backplanes/redis/frames.js';
import type { WorkerLinks } from '../../../src/base/worker-links.js';
import { kinds, Mesh } from '../../../src/cluster/mesh/mesh.js';
import { App, us_listen_socket_close, us_socket_local_port } from '../../../src/engine/sockets.js';
import { Engine, type EngineOptions } from '../../../src/index.js';
import { type AdapterFactory, withNativeRooms } from '../../../src/rooms/native-rooms.js';
import { linksOf } from '../../../src/runtime/backplane.js';
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

  private constructor(private readonly directory: string) {}

  static async start(): Promise<Machine> {
    return new Machine(await mkdtemp(join(tmpdir(), 'gjallar-mesh-')));
  }

  /**
   * The bus of one more worker, by default the embedded one. Closing it is what its death is to the others.
   * @param open opens a bus that uses the mesh
   */
  async openBackplane(open: (links: WorkerLinks) => Backplane = embeddedBackplane): Promise<Backplane> {
    const mesh = new Mesh(++this.ids, this.directory);
    await mesh.listen();
    await mesh.join([...this.meshes.map((other) => other.id), ...this.outside]);
    this.meshes.push(mesh);
    const bus = open(linksOf(mesh));
    return {
      ...bus,
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
