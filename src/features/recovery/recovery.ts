import type { Namespace, Socket } from 'socket.io';
import type { Adapter } from 'socket.io-adapter';
import type { HubLink } from '../../base/hub-service.js';
import { nameOf } from '../../base/names.js';
import { owned } from '../../base/owner.js';
import { randomBytes } from '../../base/random.js';
import type { SharedWindow } from '../../engine/delivery/shared-window.js';
import type { AdapterFactory } from '../../io/rooms/index.js';
import { endWith, wantsRecovery } from '../../io/socket-io.private.js';
import { inProcess, overHub } from '../hub-link.js';
import type { SentCounts } from './broadcast-numbers.js';
import { Keeper } from './keeper/keeper.js';
import type { RemovalTarget } from './keeper/memory.js';
import { KeeperLink } from './link.js';
import {
  codec,
  type DataPacker,
  type ExpiryListener,
  type KeeperBounds,
  type RecoveryState,
  type ToWorker,
  textPacker,
} from './messages.js';
import { NamespaceRecovery } from './namespace-recovery.js';
import { bounded, noOutcomes, type RecoveryOutcome } from './offset.js';
import { Gate } from './returns/gate.js';

export interface RecoveryOptions extends Partial<KeeperBounds> {
  /** The recoveries in progress on a worker. */
  maxRecovering?: number;
  /** The link to the keeper in the hub of this machine; undefined for a worker without one, which keeps all itself. */
  link?: HubLink | undefined;
  /** The number of the Socket.IO server among those of this worker. */
  server?: number;
  /** The window of what this worker sends to others; by default, broadcasts are kept one by one. */
  window?: SharedWindow | undefined;
  /** Called when a bound that protects the worker gives a client a new session. */
  onBound?: (outcome: RecoveryOutcome) => void;
  /** The user of a socket with this data, by which the operator may end its session. */
  userOf?: (data: unknown) => string | undefined;
}

/** `slackMs` is right for one machine. */
const defaults: KeeperBounds = {
  maxBytes: 32 * 1024 * 1024,
  maxSessions: 100_000,
  maxRooms: 2000,
  maxMissed: 10_000,
  maxMissedBytes: 4 * 1024 * 1024,
  maxReplayed: 200_000,
  maxReplayedBytes: 64 * 1024 * 1024,
  sweepMs: 5000,
  slackMs: 0,
};
const MAX_RECOVERING = 10_000;
/** What the flush of a window costs, about, in ms. */
const FLUSH_COST_MS = 0.05;

/** The recovery of connections on a worker. */
export interface Recovery {
  /**
   * Adds recovery to the adapters of a backplane, for servers with the option `connectionStateRecovery`. Others get the
   * adapter as it is. Put `withNativeRooms()` around it.
   */
  wrap(factory: AdapterFactory): AdapterFactory;
  /** Call it when the bus is down, and when it is up again: messages may be lost. */
  onBus(isUp: boolean): void;
  /**
   * Removes what is kept of clients that the operator disconnects, or takes out of a room. They return with a new
   * session.
   * @returns the ids of the sockets that were disconnected
   */
  remove(target: RemovalTarget): Promise<string[]>;
  /** What is kept, and how recoveries have ended; undefined while no server uses recovery. */
  readonly state: RecoveryState | undefined;
  close(): void;
}

/**
 * Socket.IO's connection state recovery across workers, in the memory of their machines.
 *
 * - The hub of each machine keeps the recent broadcasts of its workers, the sessions of clients that are away, and copies of
 *   the connected ones, with what they were sent alone.
 * - A client may return to any worker. The worker asks its keeper, which takes the session, here or on another machine, and
 *   gathers what the client lacks from all keepers: its offset says what it has received of each worker.
 * - If a bound or an outage has cut something that the client may lack, it is not recovered, and gets a new session.
 */
export function openRecovery(options: RecoveryOptions = {}): Recovery {
  return new ServerRecovery(options);
}

const installed = new WeakMap<Adapter, NamespaceRecovery>();

/**
 * Listens to the sessions of a namespace that expire.
 * @returns what ends it; undefined if the adapter has no recovery of gjallar
 */
export function listenToExpiries(adapter: Adapter, listener: ExpiryListener): (() => void) | undefined {
  return installed.get(adapter)?.listenToExpiries(listener);
}

/** See `depart()` of a namespace. */
export function depart(socket: Socket): { pid: string; offset: string } | undefined {
  return installed.get(socket.nsp.adapter)?.depart(socket);
}

/** See `prepare()` of the clients that return. */
export async function prepareArrival(adapter: Adapter, pid: string, sid: string): Promise<void> {
  await installed.get(adapter)?.prepare(pid, sid);
}

/** The links of this process to keepers: servers of one worker share that of their worker. */
const links = new WeakMap<HubLink, KeeperLink>();

function linkTo(hub: HubLink): KeeperLink {
  const link = links.get(hub) ?? new KeeperLink(overHub(hub, codec()), textPacker);
  links.set(hub, link);
  return link;
}

/** As stock, a keeper in this process keeps the data itself. */
const noPacker: DataPacker = { pack: (data) => data, unpack: (data) => data };

function linkInProcess(): KeeperLink {
  const { wire } = inProcess((host) => new Keeper(host), 'bus');
  return new KeeperLink(wire, noPacker);
}

/** Recovery on a Socket.IO server: what its namespaces share. */
export class ServerRecovery implements Recovery {
  /** Names this worker in offsets. */
  readonly name = randomBytes(4).toString('base64url');
  readonly counts: SentCounts = { direct: 0, broadcasts: 0 };
  readonly bounds: KeeperBounds;
  readonly gate: Gate;
  /** The number of the server among those of this worker. */
  readonly server: number;
  /** Sends what was posted together with what the window holds for other workers, and before that. */
  readonly hold: () => void;
  /** Another object after each change. */
  bus: { readonly isUp: boolean } = { isUp: true };
  private readonly outcomes = noOutcomes();
  private readonly namespaces = new Map<string, NamespaceRecovery>();
  private known: KeeperLink | undefined;
  /** Runs while there are namespaces, so that it does not hold a server that is gone. */
  private timer: NodeJS.Timeout | undefined;
  private readonly onSweep = owned('forgetting what clients that return need no more', () => this.sweep());

  constructor(private readonly options: RecoveryOptions) {
    const { server = 0, window, maxRecovering = MAX_RECOVERING } = options;
    const given = Object.entries(options).filter(([name]) => name in defaults);
    this.bounds = { ...defaults, ...Object.fromEntries(given) };
    this.gate = new Gate(maxRecovering);
    this.server = server;
    const flush = () => this.link.flush();
    this.hold =
      window?.share(() => {
        flush();
        return FLUSH_COST_MS;
      }) ?? flush;
  }

  /** Made when a namespace needs it. */
  get link(): KeeperLink {
    const { link } = this.options;
    this.known ??= link ? linkTo(link) : linkInProcess();
    return this.known;
  }

  /** The user of a socket with this data. */
  userOf(data: unknown): string | undefined {
    return this.options.userOf?.(data ?? {});
  }

  wrap(factory: AdapterFactory): AdapterFactory {
    return (nsp) => {
      const adapter = factory(nsp);
      if (wantsRecovery(nsp)) this.installLater(adapter, nsp);
      return adapter;
    };
  }

  /** socket.io calls `init()` when the adapter is complete, so that recovery is around the native rooms. */
  private installLater(adapter: Adapter, nsp: Namespace): void {
    const { init } = adapter;
    // The server asks at the start whether the adapter can recover.
    adapter.restoreSession = () => null as never;
    let namespace: NamespaceRecovery | undefined;
    adapter.init = () => {
      namespace = new NamespaceRecovery(adapter, nsp, this);
      this.namespaces.set(nsp.name, namespace);
      this.timer ??= setInterval(this.onSweep, this.bounds.sweepMs).unref();
      installed.set(adapter, namespace);
      return init.call(adapter);
    };
    endWith(adapter, async () => {
      // The keeper has what clients need that return elsewhere. The sockets are closed by then.
      if (namespace) await this.link.ask({ type: 'sync' });
      // Until the process ends, the application may send more to clients of other workers.
      setTimeout(() => namespace?.close(), this.bounds.sweepMs).unref();
      // A client may have made a namespace of the same name meanwhile.
      if (this.namespaces.get(nsp.name) === namespace) this.namespaces.delete(nsp.name);
      if (this.namespaces.size === 0) this.endSweeps();
    });
  }

  count(outcome: RecoveryOutcome): void {
    this.outcomes[outcome]++;
    if (bounded.has(outcome)) this.options.onBound?.(outcome);
  }

  get state(): RecoveryState | undefined {
    if (this.namespaces.size === 0) return undefined;
    return { ...this.link.figures, outcomes: this.outcomes };
  }

  async remove(given: RemovalTarget): Promise<string[]> {
    if (this.namespaces.size === 0) return [];
    const target = 'room' in given ? { ...given, room: nameOf(given.room) } : given;
    const found = [...this.namespaces.values()].flatMap((namespace) => namespace.remove(target));
    const server = String(this.server);
    const answer = await this.link.ask<Extract<ToWorker, { type: 'removed' }>>({ type: 'remove', target, server });
    return [...new Set([...found, ...(answer?.ids ?? [])])];
  }

  onBus(isUp: boolean): void {
    if (isUp === this.bus.isUp) return;
    this.bus = { isUp };
    for (const namespace of this.namespaces.values()) namespace.onBus(isUp);
  }

  private sweep(): void {
    for (const namespace of this.namespaces.values()) namespace.sweep();
  }

  private endSweeps(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  close(): void {
    this.endSweeps();
    this.gate.turns.close();
    for (const namespace of this.namespaces.values()) namespace.close();
    this.namespaces.clear();
    if (!this.options.link) this.known?.close();
  }
}
