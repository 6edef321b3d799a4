import { createConnection, createServer, type Socket } from 'node:net';
import { deserialize, serialize } from 'node:v8';
import { clearTimeout, machineTime, performance, setImmediate, setTimeout } from '../../../base/clock.js';
import { own, owned } from '../../../base/owner.js';
import { within } from '../../../base/within.js';
import type { Node } from '../../../cluster/node.js';
import { type FromPrimary, socketOf } from '../../../cluster/protocol.js';
import type { Relay, Successors } from '../../../cluster/relay/relay.js';
import type { Engine } from '../../../engine/engine.js';
import type { LeftWebSocket } from '../../../engine/http/exchange.js';
import { ConnectionPipe } from '../../../engine/node/connection-pipe.private.js';
import type { NodeWebSocket } from '../../../engine/node/web-socket.js';
import type { ArrivingSession } from '../../../engine/session/handshake.js';
import type { Session } from '../../../engine/session/session.js';
import { depart, departing, expectArrival, forgetArrival, prepareArrival } from '../../../features/recovery/index.js';
import {
  type Connect,
  clientOf,
  encodeConnects,
  isBusy,
  type MovingClient,
} from '../../../io/moving-clients.private.js';
import { pidOf } from '../../../io/socket-io.private.js';
import { privateParts } from '../../../io/socket-io-server.private.js';
import type { MachineWorker } from '../machine-worker.js';
import { waitedFor } from './drain.js';

/** How often clients leave, in ms: those that leave together share what each would cost the hub and the new worker alone. */
const TURN_MS = 20;
/** How many leave in a turn, if there is time, and how many are on their way at once, at most. */
const PER_TURN = 4;
const MAX_ON_WAY = 16;
/** How many are looked at in a turn that may be busy. */
const MAX_LOOKS = 1000;
/** How long this worker stays after the last arrival, in ms: presence tells others of a user within this time. */
const STAY_MS = 200;
/** How long a session may take to arrive once it has left, in ms. A busy machine takes its time. */
const MAX_MOVE_MS = 5000;
/** How long this worker waits for the answer, in ms. */
const MAX_SILENCE_MS = 7000;
/** After this time, in ms, the next sessions do not wait for one that is on its way. */
const SLOW_MS = 1000;
/** What the application knows of a client that moves, as bytes: its `auth` in all namespaces, and what waits for it. */
const MAX_STATE_BYTES = 262_144;
/** The same of all clients that are on their way. */
const MAX_MOVING_BYTES = 16 * 1024 * 1024;
/** For how many sessions the successor prepares at once. It is prepared for up to twice as many. */
const PREPARED = 64;
/** How long its answer is waited for, in ms. Without it, each session takes longer to move. */
const MAX_PREPARATION_MS = 1000;

/** A session as it moves. */
interface Moving extends ArrivingSession {
  /** When it has left, by the clock of the machine. */
  readonly leftAt: number;
  readonly connects: readonly Connect[];
}

/** A session on a WebSocket, as it goes with its connection. */
interface Handed extends Omit<LeftWebSocket, 'socket'> {
  /** The worker that it leaves. */
  readonly from: string;
  /** The number of its engine among those of the worker. */
  readonly engine: number;
  /** What the application knows of it. */
  readonly state: Buffer;
  /** See {@link peerOf}. */
  readonly peer: string;
}

/** A socket for which a successor prepares. */
interface Expected {
  readonly nsp: string;
  readonly pid: string;
  readonly sid: string;
}

/** A session that has left, and has not arrived yet. */
interface Departed {
  /** The connection, which this worker holds on to: it can end it even if the other worker hangs. */
  readonly socket: Socket | undefined;
  readonly since: number;
  readonly bytes: number;
  readonly timer: NodeJS.Timeout;
}

/**
 * Moves sessions from a worker that is replaced to its successor, without their clients noticing.
 *
 * ```
 * REPLACED WORKER                       SUCCESSOR
 *  │ prepare(some sessions)               │
 *  │ ───────────────────────────────────▶ │  gets what is sent to these clients alone from now on, too
 *  │                             prepared │
 *  │ ◀─────────────────────────────────── │
 *  │ stops reading                        │
 *  │ `disconnect` (moved)                 │
 *  │ session, with its connection         │
 *  │ ═══════════════════════════════════▶ │  takes the session from the keeper, as for a client that returns;
 *  │                                      │  `connection`, and what was sent meanwhile
 *  │                              arrived │
 *  │ ◀─────────────────────────────────── │  reads on
 *  │ closes its end                       │
 * ```
 *
 * Connections go over a pipe of their own. A session on polling needs none: it goes over the relay, with the poll that waits.
 * Whatever goes wrong on the way ends the connection, and the client returns by itself.
 */
export class Moves {
  /** Workers that were replaced, or are about to be. */
  successors: Successors = [];
  private readonly departed = new Map<string, Departed>();
  /** Sessions that are to move. */
  private readonly waiting = new Set<Session>();
  /** Those for which the successor is prepared. Those that were busy when their turn came are tried again, after the others. */
  private readonly ready = new Set<Session>();
  private readonly busy = new Set<Session>();
  private preparations = 0;
  /** The way to the successor, once that is prepared for the first time. */
  private pipe: ConnectionPipe | undefined;
  /** What has come over the pipes in the last turns. */
  private readonly held: Parameters<Moves['takeOver']>[] = [];
  /** Whether this worker, as a successor, accepts pipes. */
  private listening: Promise<void> | undefined;
  /** Ends the preparation in progress. */
  private prepared: (() => void) | undefined;
  /** Sessions that cannot move. */
  private readonly staying = new WeakSet<Session>();
  private timer: NodeJS.Timeout | undefined;
  private successor: number | undefined;
  private due = 0;
  private staysUntil = 0;
  /** How long each client that has arrived heard nothing, in ms. */
  private readonly silences: number[] = [];
  /** Why others had to reconnect, and how many. */
  private readonly failures: Record<string, number> = {};

  constructor(
    private readonly worker: MachineWorker,
    private readonly node: Node,
  ) {
    const { orders, mesh } = worker;
    orders.on('successors', (order) => this.learn(order));
    this.learn(orders.last('successors'));
    mesh.on({ onLeave: (id) => id === this.successor && this.giveUp() });
  }

  private learn(order: Extract<FromPrimary, { type: 'successors' }> | undefined): void {
    this.successors = (order?.of ?? []).map(
      (pair) => pair.map((worker) => this.node.nameOf(worker)) as [string, string],
    );
  }

  /**
   * Sessions go on on this worker from now on, where possible.
   * @param within how long that may take, in ms
   */
  begin(successor: number | undefined, within: number): void {
    if (successor === undefined || !this.worker.mesh.has(successor)) return;
    this.successor = successor;
    this.due = performance.now() + within;
    for (const engine of this.worker.engines) for (const session of engine.all) this.takes(session);
  }

  /** How many clients have arrived, how long they heard nothing, and how many had to reconnect. */
  get outcome(): object {
    const { silences } = this;
    const failures = { ...this.failures };
    const unanswered = this.departed.size;
    if (unanswered > 0) failures['no answer'] = (failures['no answer'] ?? 0) + unanswered;
    const sorted = silences.sort((one, other) => one - other);
    const at = (share: number) => Math.ceil(sorted[Math.ceil(share * sorted.length) - 1] ?? 0);
    const failed = Object.values(failures).reduce((sum, count) => sum + count, 0);
    const silentMs = { p50: at(0.5), p99: at(0.99), longest: at(1) };
    return {
      moved: silences.length,
      failed,
      ...(silences.length > 0 && { silentMs }),
      ...(failed > 0 && { failures }),
    };
  }

  /** The sessions that have not arrived yet, and those that just have. */
  readonly group = waitedFor(() => this.departed.size + Number(performance.now() < this.staysUntil));

  /** Whether a session is about to move, as soon as it can: nothing else may end it before the last call of a drain. */
  takes(session: Session): boolean {
    if (!this.clientOf(session)) return false;
    if (!this.ready.has(session) && !this.busy.has(session)) this.waiting.add(session);
    this.timer ??= setTimeout(this.onTurn, 0);
    return true;
  }

  /** Has the successor prepare for the next sessions, of one engine. */
  private async prepare(to: number): Promise<void> {
    const [first] = this.waiting;
    if (!first || this.prepared || this.ready.size > PREPARED) return;
    const sessions: Session[] = [];
    const expected: Expected[] = [];
    for (const session of this.waiting) {
      if (sessions.length === PREPARED) break;
      if (session.server !== first.server) continue;
      const client = session.readyState === 'open' ? this.clientOf(session) : undefined;
      if (client) sessions.push(session);
      else this.waiting.delete(session);
      for (const socket of client?.sockets.values() ?? [])
        expected.push({ nsp: socket.nsp.name, pid: pidOf(socket), sid: socket.id });
    }
    const prepared = new Promise<void>((resolve) => {
      this.prepared = resolve;
    });
    this.relayOf(first.server).prepare(this.node.nameOf(to), ++this.preparations, serialize(expected));
    // The successor accepts a pipe once it has answered.
    await (this.pipe ? within(MAX_PREPARATION_MS, prepared) : prepared);
    if (this.successor !== undefined) this.pipe ??= await this.connect(to);
    this.prepared = undefined;
    for (const session of sessions) if (this.waiting.delete(session)) this.ready.add(session);
  }

  /** Lets some clients leave. */
  private readonly onTurn = owned('moving clients', () => {
    const { waiting, ready, busy, successor, prepared } = this;
    const left = waiting.size + ready.size + busy.size;
    const isOver = successor === undefined || (left === 0 && !prepared);
    this.timer = isOver ? undefined : setTimeout(this.onTurn, TURN_MS);
    if (isOver) return;
    own('preparing for sessions', this.prepare(successor));
    const now = performance.now();
    // Twice as fast as necessary: what comes last may take longer.
    const needed = Math.ceil((2 * left * TURN_MS) / Math.max(1, this.due - now));
    const young = [...this.departed.values()].filter(({ since }) => now - since < SLOW_MS).length;
    // One after the other at first: a new worker is slow at what it does for the first time.
    let free = Math.min(Math.max(PER_TURN, needed), MAX_ON_WAY, 1 + this.silences.length) - young;
    let looks = MAX_LOOKS;
    for (const session of [...ready, ...busy]) {
      if (free <= 0 || looks-- === 0) break;
      ready.delete(session);
      busy.delete(session);
      if (session.readyState !== 'open') continue;
      if (this.move(session)) free--;
      else if (this.clientOf(session)) busy.add(session);
    }
  });

  /** The client of a session of a kind that can move. */
  private clientOf(session: Session): MovingClient | undefined {
    const { protocol, transport, polling } = session;
    if (this.successor === undefined || protocol !== 4 || this.staying.has(session)) return undefined;
    return polling || transport.nativeSocket?.canLeave !== undefined ? clientOf(session) : undefined;
  }

  private relayOf(engine: Engine): Relay {
    return this.worker.relays[this.worker.engines.indexOf(engine)]!;
  }

  /** Moves a session, if it can. */
  move(session: Session): boolean {
    const to = this.successor;
    const engine = session.server;
    const client = this.clientOf(session);
    if (to === undefined || !this.pipe || !client || isBusy(client) || !engine.canLeave(session)) return false;
    let moving = 0;
    for (const { bytes } of this.departed.values()) moving += bytes;
    if (moving > MAX_MOVING_BYTES) return false;
    const state = stateOf(session, client);
    if (!state) {
      this.staying.add(session);
      return false;
    }
    const { id } = session;
    const sids = [...client.sockets.keys()];
    for (const sid of sids) departing.add(sid);
    const { webSocket, poll } = engine.handOver(session);
    for (const sid of sids) departing.delete(sid);
    const timer = setTimeout(() => this.arrived(id, 'no answer'), MAX_SILENCE_MS);
    this.departed.set(id, { socket: webSocket?.socket, since: performance.now(), bytes: state.length, timer });
    if (webSocket) {
      const { socket, ...left } = webSocket;
      const index = this.worker.engines.indexOf(engine);
      const handed: Handed = { from: this.node.id, engine: index, state, ...left, peer: peerOf(socket) };
      this.pipe.send(serialize(handed), socket);
    } else this.relayOf(engine).handOver(this.node.nameOf(to), id, state, poll);
    return true;
  }

  /** The successor is gone: what is on its way returns by itself, and the others are dismissed. */
  private giveUp(): void {
    this.successor = undefined;
    for (const sessions of [this.waiting, this.ready, this.busy]) sessions.clear();
    this.prepared?.();
    for (const id of [...this.departed.keys()]) this.arrived(id, 'the new worker is gone');
  }

  /** @param failure why the client has to reconnect */
  private arrived(id: string, failure?: string): void {
    const departed = this.departed.get(id);
    if (!departed) return;
    const { socket, since, timer } = departed;
    this.departed.delete(id);
    clearTimeout(timer);
    const now = performance.now();
    this.staysUntil = now + STAY_MS;
    if (failure === undefined) this.silences.push(now - since);
    else this.failures[failure] = (this.failures[failure] ?? 0) + 1;
    // A connection that another process still has ends only if it is shut down.
    if (failure === undefined) socket?.destroy();
    else socket?.destroySoon();
  }

  /** Takes part in the moves of an engine's sessions. */
  watch(engine: Engine, relay: Relay): void {
    relay.onArrived = (id, failure) => this.arrived(id, failure);
    relay.onPrepared = (number) => number === this.preparations && this.prepared?.();
    relay.onPrepare = (bytes) => {
      const io = this.worker.servers.find((one) => (one.engine as unknown) === engine);
      const expected = deserialize(bytes) as Expected[];
      const prepared = expected.map(({ nsp, pid, sid }) => {
        const adapter = io && privateParts(io)._nsps.get(nsp)?.adapter;
        return adapter && prepareArrival(adapter, pid, sid);
      });
      return Promise.all([this.listen(), ...prepared]);
    };
    relay.onHandOver = owned('taking a session over', (from: string, bytes: Buffer) =>
      this.arrive(engine, relay, from, deserialize(bytes) as Moving),
    );
  }

  /** Opens the way to the successor; undefined if that is gone. */
  private connect(to: number): Promise<ConnectionPipe | undefined> {
    const carrier = createConnection(socketOf(this.worker.mesh.directory, to, 'move')).pause();
    const giveUp = () => this.giveUp();
    return new Promise((resolve) => {
      carrier.once('error', () => resolve(giveUp() as undefined));
      carrier.once('connect', () => resolve(new ConnectionPipe(carrier, () => {}, giveUp)));
    });
  }

  /** Accepts the pipes of workers that this one replaces. */
  private listen(): Promise<void> {
    this.listening ??= new Promise((resolve, reject) => {
      const accept = (carrier: Socket) =>
        new ConnectionPipe(
          carrier,
          (...handed) => this.hold(handed),
          () => {},
        );
      const server = createServer({ pauseOnConnect: true }, accept).unref();
      process.once('exit', () => server.close());
      server.once('error', reject);
      const { directory, id } = this.worker.mesh;
      server.listen({ path: socketOf(directory, id, 'move'), exclusive: true }, resolve);
    });
    return this.listening;
  }

  /** Those that left together go on together, and share messages to the hub. Each comes in a turn of its own. */
  private hold(handed: Parameters<Moves['takeOver']>): void {
    const count = this.held.push(handed);
    const goOn = () => {
      if (this.held.length > count) return;
      for (const one of this.held.splice(0)) this.takeOver(...one);
    };
    setImmediate(() => setImmediate(goOn));
  }

  /** @param socket the connection; none if this process has no descriptor left */
  private readonly takeOver = owned('taking a session over', (message: Buffer, socket: Socket | undefined): void => {
    const { from, engine: index, state, rest, compresses, peer } = deserialize(message) as Handed;
    const moving = deserialize(state) as Moving;
    const engine = this.worker.engines[index];
    const relay = this.worker.relays[index];
    // Its worker waits for the answer. A client that returned before would find no descriptor either.
    if (!socket || !engine || !relay) return void socket?.destroy();
    if (peerOf(socket) === peer) return this.arrive(engine, relay, from, moving, { socket, compresses, rest });
    socket.destroy();
    relay.tellArrived(from, moving.id, 'the connection is another one');
  });

  private arrive(engine: Engine, relay: Relay, from: string, moving: Moving, connection?: LeftWebSocket): void {
    const { id, connects, leftAt } = moving;
    const io = this.worker.servers.find((one) => (one.engine as unknown) === engine);
    let isOver = false;
    let session: Session | undefined;
    let webSocket: NodeWebSocket | undefined;
    const over = (failure?: string) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      for (const { auth } of connects) forgetArrival(auth.pid);
      relay.tellArrived(from, id, failure);
      if (failure === undefined) {
        // When its last ping was sent is known only to the other worker, and to the client. This one goes with what it gets now.
        session!.onDeadline(false);
        // The listeners of `connection` run first.
        setImmediate(() => (webSocket ? webSocket.goOn(connection!.rest) : session!.polling?.handleHeldPost()));
      } else {
        if (session?.polling) session.dismiss();
        webSocket?.close();
        connection?.socket.destroy();
      }
    };
    // A middleware may never call the next one.
    const ms = leftAt + MAX_MOVE_MS - machineTime();
    const timer = setTimeout(() => over('too slow'), ms);
    // Its client may have returned already. What it has said on this connection must not come after what it says on the next one.
    if (ms <= 0) return over('too slow');
    // If it is too slow, it has to end although the application does not know it yet.
    session = engine.arrive(moving, connection, (...known) => {
      [session, webSocket] = known;
      if (!session || !io) return over('not let in');
      if (isOver) return session.dismiss();
      let missing = connects.length;
      for (const { auth } of connects) {
        expectArrival(auth.pid, (isHere) => {
          missing--;
          if (!isHere) over('not recovered');
          else if (missing === 0) over();
        });
      }
      engine.sender = session;
      for (const packet of encodeConnects(io, connects)) session.emit('data', packet);
    });
  }
}

/** The other end of a connection, which no other connection of this machine has. */
const peerOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;

/** What another worker needs to go on with a session; undefined if its client cannot return to all namespaces, or its `auth` not move. */
function stateOf(session: Session, client: MovingClient): Buffer | undefined {
  const connects: Connect[] = [];
  for (const socket of client.sockets.values()) {
    const departure = depart(socket);
    if (!departure) return undefined;
    connects.push({ nsp: socket.nsp.name, auth: { ...socket.handshake.auth, ...departure } });
  }
  // Applications may delete the request to save its memory.
  if (connects.length === 0 || !session.request) return undefined;
  const packets = session.takePackets();
  try {
    const { id, request, left } = session;
    const moving: Moving = { id, parts: request.toParts(), packets, left, connects, leftAt: machineTime() };
    const state = serialize(moving);
    if (state.length <= MAX_STATE_BYTES) return state;
  } catch {
    // A middleware has put something into `auth` that cannot move.
  }
  session.addPackets(packets);
  return undefined;
}
