import { randomBytes } from 'node:crypto';
import { afterEach } from '@jest/globals';
import { type Socket as Client, io as connect } from 'socket.io-client';
import { hubServices } from '../../../../src/base/hub-service.js';
import type { Backplane } from '../../../../src/cluster/backplanes/backplane.js';
import type { PubSub } from '../../../../src/cluster/backplanes/pub-sub.js';
import { RedisPubSub } from '../../../../src/cluster/backplanes/redis/pub-sub.js';
import type { BackplaneChoice } from '../../../../src/cluster/backplanes/registry.js';
import type { Hub } from '../../../../src/cluster/hub/hub.js';
import { hubOn, openHub } from '../../../../src/cluster/hub/open.js';
import { HUB, Mesh, type MeshLinks } from '../../../../src/cluster/mesh/mesh.js';
import { Node } from '../../../../src/cluster/node.js';
import { ownWindow } from '../../../../src/engine/delivery/shared-window.js';
import type { EngineOptions } from '../../../../src/engine/options.js';
import { openHubService } from '../../../../src/features/recovery/hub-service.js';
import type { RecoveryOptions } from '../../../../src/features/recovery/recovery.js';
import { loadBackplane } from '../../../../src/host/runtime/open-bus.js';
import { meshInProcess, turnWindow } from '../../../cluster/support/hub-in-process.js';
import { startMember } from '../../../io/rooms/support/node.js';
import { nextEvent } from '../../../support/clients.js';
import { until } from '../../../support/until.js';

export type Bounds = Pick<
  RecoveryOptions,
  | 'maxBytes'
  | 'maxSessions'
  | 'maxRooms'
  | 'maxMissed'
  | 'maxMissedBytes'
  | 'maxReplayed'
  | 'maxReplayedBytes'
  | 'maxRecovering'
  | 'sweepMs'
  | 'slackMs'
>;

/** Loaded here: jest allows no import while one of several concurrent tests has just ended. */
const openEmbedded = await loadBackplane({ bus: 'embedded', redisUrl: undefined });

/** A backplane that takes along what it stands on when it is closed. */
function closedWith(bus: Backplane, base: { close(): void } | undefined): Backplane {
  return {
    ...bus,
    get recovery() {
      return bus.recovery;
    },
    close: () => {
      bus.close();
      base?.close();
    },
  };
}

/** The hubs of machines, by the folders of their meshes, with the number of workers that use each. */
const hubs = new Map<string, { hub: Promise<Hub>; users: number }>();

/** Uses the hub of a machine, and starts it if it is not there. Returns what ends that. */
export function useHub(
  choice: BackplaneChoice,
  machine: string,
  directory: string,
): { hub: Promise<Hub>; end(): void } {
  const known = hubs.get(directory) ?? { hub: startHub(choice, machine, directory), users: 0 };
  hubs.set(directory, known);
  known.users++;
  return {
    hub: known.hub,
    end: () => {
      if (--known.users > 0) return;
      hubs.delete(directory);
      void known.hub.then((hub) => hub.close());
    },
  };
}

const EMBEDDED: BackplaneChoice = { bus: 'embedded', redisUrl: undefined };

/**
 * A worker's backplane on a mesh, with recovery. Closing it is to the others what its death is.
 * @param meshFor the mesh for broadcasts
 * @param onBound is told each bound that gives a client a new session
 * @param hasThread whether the test has started the hub, as a thread
 */
export async function joinMesh(
  directory: string,
  id: number,
  others: readonly number[],
  bounds: Bounds = {},
  meshFor: (mesh: Mesh) => MeshLinks = (mesh) => mesh,
  onBound: (reason: string) => void = () => {},
  hasThread = false,
) {
  const mesh = new Mesh(id, directory);
  const node = new Node(meshFor(mesh), 'machine-', true);
  await mesh.listen();
  const used = hasThread ? undefined : useHub(EMBEDDED, 'machine-', directory);
  await used?.hub;
  await mesh.join([HUB, ...others]);
  const bus = openEmbedded({
    node,
    window: ownWindow(),
    prefix: '',
    recovery: { link: node.service(hubServices.recovery), onBound, ...bounds },
  });
  const close = () => {
    mesh.close();
    used?.end();
  };
  return closedWith(bus, { close });
}

/** The same for a worker of a machine that Redis connects with others. */
export async function joinMachine(
  { machine = 'machine-', ...choice }: BackplaneChoice & { machine?: string | undefined },
  directory: string,
  id: number,
  others: readonly number[],
  meshFor: (mesh: Mesh) => MeshLinks = (mesh) => mesh,
) {
  const mesh = new Mesh(id, directory);
  const node = new Node(meshFor(mesh), machine, false);
  await mesh.listen();
  const used = useHub(choice, machine, directory);
  await used.hub;
  await mesh.join([HUB, ...others]);
  const open = await loadBackplane(choice);
  const bus = open({
    node,
    window: ownWindow(),
    prefix: 'socket.io',
    recovery: { link: node.service(hubServices.recovery), slackMs: 0 },
  });
  const close = () => {
    mesh.close();
    used.end();
  };
  return closedWith(bus, { close });
}

async function startHub(choice: BackplaneChoice, machine: string, directory: string): Promise<Hub> {
  const mesh = new Mesh(HUB, directory);
  const open = pubSubOf(choice);
  const given = { machine, mesh, window: ownWindow(), loadService: () => openHubService };
  const withoutFrames = choice.bus === 'redis';
  const hub = open ? hubOn(open(), { prefix: 'socket.io', withoutFrames }, given) : await openHub(undefined, given);
  await mesh.listen();
  return hub;
}

/** What the hub of a machine connects with; nothing where workers connect by themselves. */
function pubSubOf({ redisUrl }: BackplaneChoice): (() => PubSub) | undefined {
  if (!redisUrl) return undefined;
  return () => new RedisPubSub(redisUrl);
}

/** A worker's backplane on Redis, with recovery, as the only worker of its machine. */
export async function joinRedis(
  redisUrl: string,
  bounds: Bounds = {},
  bus: 'redis' | 'redis-frames' = 'redis',
): Promise<Backplane> {
  return (await joinerOf({ bus, redisUrl }))(bounds);
}

/**
 * Opens such backplanes on a server.
 * @param ofHub how their hubs reach it
 */
export async function joinerOf(choice: BackplaneChoice, ofHub = choice): Promise<(bounds?: Bounds) => Backplane> {
  const open = await loadBackplane(choice);
  const openPubSub = pubSubOf(ofHub);
  return (bounds) => {
    const machine = randomBytes(6).toString('base64url');
    const { worker, hub: hubMesh } = meshInProcess();
    const node = new Node(worker, machine, false);
    const given = { machine, mesh: hubMesh, window: turnWindow(), loadService: () => openHubService };
    const withoutFrames = choice.bus === 'redis';
    const hub = openPubSub && hubOn(openPubSub(), { prefix: 'socket.io', withoutFrames }, given);
    const bus = open({
      node,
      window: ownWindow(),
      prefix: 'socket.io',
      // Machines of a test have one clock.
      recovery: { link: node.service(hubServices.recovery), slackMs: 0, ...bounds },
    });
    return closedWith(bus, hub);
  };
}

/** What a client has heard: the sender and the number of each message. */
export type Heard = [sender: string, number: number];

/** A client that may be cut off and return to another worker. */
export class Wanderer {
  readonly heard: Heard[] = [];
  readonly socket: Client;
  /** Whether each of its returns was recovered. */
  readonly recovered: boolean[] = [];

  constructor(url: string, transport: 'websocket' | 'polling', auth: object = {}) {
    this.socket = connect(url, { forceNew: true, transports: [transport], reconnection: false, auth });
    this.socket.on('n', (sender: string, number: number) => this.heard.push([sender, number]));
  }

  /** What it has heard of one sender, in order. */
  of(sender: string): number[] {
    return this.heard.filter(([one]) => one === sender).map(([, number]) => number);
  }

  async connected(): Promise<void> {
    if (!this.socket.connected) await nextEvent(this.socket, 'connect');
  }

  async cutOff(): Promise<void> {
    const gone = nextEvent(this.socket, 'disconnect');
    this.socket.io.engine.close();
    await gone;
  }

  async comeBack(url: string): Promise<void> {
    (this.socket.io as unknown as { uri: string }).uri = url;
    const back = nextEvent(this.socket, 'connect');
    this.socket.connect();
    await back;
    this.recovered.push(this.socket.recovered);
  }

  async heardAll(count: number): Promise<void> {
    await until(() => this.heard.length >= count);
  }

  /** What a client sends to be recovered. */
  get credentials(): { pid: string; offset: string } {
    const { _pid, _lastOffset } = this.socket as unknown as { _pid: string; _lastOffset: string };
    return { pid: _pid, offset: _lastOffset };
  }

  /** Makes no worker know its session, though it names what it has received. */
  forgetSession(): void {
    Object.assign(this.socket, { _pid: randomBytes(15).toString('base64url') });
  }

  close(): void {
    this.socket.disconnect();
  }
}

/** The workers and the clients of a test, which end with it. */
export function ofTest() {
  const nodes: Member[] = [];
  const clients: Wanderer[] = [];
  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    for (const node of nodes.splice(0)) await node.close();
  });
  return {
    nodes,
    clients,
    /** Starts a worker with recovery. */
    start: async (bus: Backplane, { engine, ...recovery }: StartOptions = {}): Promise<Member> => {
      const node = await startMember(bus, { server: { connectionStateRecovery: recovery }, engine });
      nodes.push(node);
      return node;
    },
    /** Connects a client, which has heard so many messages then. */
    enter: async (node: Pick<Member, 'url'>, heard = 1): Promise<Wanderer> => {
      const client = new Wanderer(node.url, 'websocket');
      clients.push(client);
      await client.heardAll(heard);
      return client;
    },
    /** Cuts a client off, and waits until each worker has noticed. */
    away: async (client: Wanderer): Promise<void> => {
      const { id } = client.socket;
      await client.cutOff();
      await until(() => nodes.every(({ io }) => !io.of('/').sockets.has(id!)));
    },
  };
}

type Member = Awaited<ReturnType<typeof startMember>>;
type StartOptions = { engine?: EngineOptions; maxDisconnectionDuration?: number; skipMiddlewares?: boolean };
