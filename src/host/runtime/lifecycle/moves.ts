import type { SendHandle } from 'node:child_process';
import type { Socket } from 'node:net';
import { deserialize, serialize } from 'node:v8';
import { clearTimeout, performance, setImmediate, setTimeout } from '../../../base/clock.js';
import { owned } from '../../../base/owner.js';
import type { Node } from '../../../cluster/node.js';
import type { FromPrimary } from '../../../cluster/protocol.js';
import type { Relay, Successors } from '../../../cluster/relay/relay.js';
import type { Engine } from '../../../engine/engine.js';
import { closeHandle, sendableHandleOf, socketOn } from '../../../engine/node/node-net.private.js';
import type { ArrivingSession } from '../../../engine/session/handshake.js';
import type { Session } from '../../../engine/session/session.js';
import { depart, departing, expectArrival, forgetArrival } from '../../../features/recovery/index.js';
import {
  type Connect,
  clientOf,
  encodeConnects,
  isBusy,
  type MovingClient,
} from '../../../io/moving-clients.private.js';
import type { MachineWorker } from '../machine-worker.js';
import type { DrainGroup } from './drain.js';
import { Pace } from './pace.js';

/** How often sessions are looked at that are busy, in ms. */
const BUSY_MS = 10;
/** How long this worker stays after the last arrival, in ms: presence tells others of a user within this time. */
const STAY_MS = 200;
/** How long a session may take to arrive once it has reached the new worker, in ms. A busy machine takes its time. */
const MAX_MOVE_MS = 5000;
/** How long this worker waits for the answer, in ms. */
const MAX_SILENCE_MS = 7000;
/** After this time, in ms, the next sessions do not wait for those that are on their way. */
const MAX_BATCH_MS = 1000;
/** What the application knows of a client that moves, as bytes: its `auth` in all namespaces, and what waits for it. */
const MAX_STATE_BYTES = 262_144;
/** The same of all clients that are on their way. */
const MAX_MOVING_BYTES = 16 * 1024 * 1024;
/** How many sessions are looked at in one turn. */
const MAX_LOOKS = 1000;

/** A session as it moves. */
interface Moving extends ArrivingSession {
  readonly connects: readonly Connect[];
}

/** The connection of a session that arrives. */
interface Connection {
  readonly socket: Socket;
  readonly compresses: boolean;
  /** The beginning of a frame. */
  readonly rest: Buffer;
}

/** A session that has left, and has not arrived yet. */
interface Departed {
  /** The connection, which this worker holds on to: it can end it even if the other worker hangs. */
  readonly socket: Socket | undefined;
  readonly since: number;
  readonly bytes: number;
  readonly timer: NodeJS.Timeout;
  readonly batch: Batch | undefined;
}

/** Sessions that move together. */
interface Batch {
  readonly since: number;
  count: number;
  left: number;
  timer?: NodeJS.Timeout;
}

/**
 * Moves sessions from a worker that is replaced to its successor, without their clients noticing.
 *
 * ```
 * REPLACED WORKER              PRIMARY                  SUCCESSOR
 *  │ stops reading               │                        │
 *  │ `disconnect` (moved)        │                        │
 *  │ handOver(session) + handle  │ takeOver + handle      │
 *  │ ──────────────────────────▶ │ ─────────────────────▶ │  takes the session from the keeper, as for a client that
 *  │                             │                        │  returns; `connection`, and what was sent meanwhile
 *  │                             │                arrived │
 *  │ ◀─────────────────────────────────────────────────── │  reads on
 *  │ closes its end              │                        │
 * ```
 *
 * A session on polling needs no handle: it goes over the relay, with the poll that waits. Whatever goes wrong on the way ends
 * the connection, and the client returns by itself.
 */
export class Moves {
  /** Workers that were replaced, or are about to be. */
  successors: Successors = [];
  private readonly departed = new Map<string, Departed>();
  private departedBytes = 0;
  /** Sessions that are about to move. Those that are busy are looked at again and again. */
  private readonly waiting = new Map<Session, Engine>();
  /** Sessions that cannot move. */
  private readonly staying = new WeakSet<Session>();
  private timer: NodeJS.Timeout | undefined;
  private batch: Batch | undefined;
  private readonly pace = new Pace();
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
    orders.onTakeOver = owned('taking a session over', (order, handle) => this.takeOver(order, handle));
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
    for (const engine of this.worker.engines) {
      for (const session of Object.values(engine.clients)) this.takes(engine, session);
    }
  }

  /** How many clients have arrived, how long they heard nothing, and how many had to reconnect. */
  get outcome(): object {
    const { silences, failures } = this;
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

  /** The sessions that have not arrived yet, and those that just have. They end by themselves. */
  get group(): DrainGroup<object> {
    const count = () => this.departed.size + Number(performance.now() < this.staysUntil);
    return {
      get size() {
        return count();
      },
      members: () => [],
      isQuiet: () => true,
      dismiss: () => {},
    };
  }

  /** Whether a session is about to move, as soon as it can: nothing else may end it before the last call of a drain. */
  takes(engine: Engine, session: Session): boolean {
    if (!this.clientOf(session)) return false;
    this.waiting.set(session, engine);
    this.moveSoon(0);
    return true;
  }

  private moveSoon(ms: number): void {
    if (this.batch) return;
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.moveSome();
    }, ms);
  }

  private moveSome(): void {
    const { waiting, pace } = this;
    const batch: Batch = { since: performance.now(), count: 0, left: 0 };
    this.batch = batch;
    // Those that are busy come again after the others.
    for (const [session, engine] of [...waiting].slice(0, MAX_LOOKS)) {
      if (batch.count === pace.size) break;
      waiting.delete(session);
      if (session.readyState !== 'open' || this.move(engine, session)) continue;
      if (this.clientOf(session)) waiting.set(session, engine);
    }
    if (batch.count > 0) batch.timer = setTimeout(() => this.ended(batch), MAX_BATCH_MS);
    else {
      this.batch = undefined;
      if (waiting.size > 0) this.moveSoon(BUSY_MS);
    }
  }

  /** The sessions of a batch have arrived. Both workers rest as long as that has taken, unless there is no time for that. */
  private ended(batch: Batch): void {
    if (this.batch !== batch) return;
    this.batch = undefined;
    clearTimeout(batch.timer);
    const now = performance.now();
    const took = now - batch.since;
    this.pace.next(batch.count - batch.left, took);
    const isLate = now + (this.waiting.size / batch.count) * 2 * took > this.due;
    if (this.waiting.size > 0) this.moveSoon(isLate ? 0 : took);
  }

  /** The client of a session of a kind that can move. */
  private clientOf(session: Session): MovingClient | undefined {
    const { protocol, transport, polling } = session;
    if (this.successor === undefined || protocol !== 4 || this.staying.has(session)) return undefined;
    return polling || transport.nativeSocket?.canLeave !== undefined ? clientOf(session) : undefined;
  }

  /** Moves a session, if it can. */
  move(engine: Engine, session: Session): boolean {
    const to = this.successor;
    const client = this.clientOf(session);
    if (to === undefined || !client || isBusy(client) || !engine.canLeave(session)) return false;
    if (this.departedBytes > MAX_MOVING_BYTES) return false;
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
    const { batch } = this;
    if (batch) {
      batch.count++;
      batch.left++;
    }
    const timer = setTimeout(() => this.arrived(id, 'no answer'), MAX_SILENCE_MS);
    const bytes = state.length;
    this.departed.set(id, { socket: webSocket?.socket, since: performance.now(), bytes, timer, batch });
    this.departedBytes += bytes;
    const { orders, engines, relays } = this.worker;
    const index = engines.indexOf(engine);
    if (webSocket) {
      const { socket, rest, compresses } = webSocket;
      const handed = { engine: index, state: state.toString('base64'), rest: rest.toString('base64'), compresses };
      orders.sendWith(sendableHandleOf(socket), { type: 'handOver', to, session: handed });
    } else relays[index]!.handOver(this.node.nameOf(to), id, state, poll);
    return true;
  }

  /** The successor is gone: what is on its way returns by itself, and the others are dismissed. */
  private giveUp(): void {
    this.successor = undefined;
    this.waiting.clear();
    for (const id of [...this.departed.keys()]) this.arrived(id, 'the new worker is gone');
  }

  /** @param failure why the client has to reconnect */
  private arrived(id: string, failure?: string): void {
    const departed = this.departed.get(id);
    if (!departed) return;
    const { socket, since, bytes, timer, batch } = departed;
    this.departed.delete(id);
    this.departedBytes -= bytes;
    clearTimeout(timer);
    const now = performance.now();
    this.staysUntil = now + STAY_MS;
    if (failure === undefined) this.silences.push(now - since);
    else this.failures[failure] = (this.failures[failure] ?? 0) + 1;
    // A connection that another process still has ends only if it is shut down.
    if (failure === undefined) socket?.destroy();
    else socket?.destroySoon();
    if (batch && --batch.left === 0) this.ended(batch);
  }

  /** Takes part in the moves of an engine's sessions. */
  watch(engine: Engine, relay: Relay): void {
    relay.onArrived = (id, failure) => this.arrived(id, failure);
    relay.onHandOver = owned('taking a session over', (from: string, bytes: Buffer) =>
      this.arrive(engine, relay, from, deserialize(bytes) as Moving),
    );
  }

  private takeOver(
    { from, session }: Extract<FromPrimary, { type: 'takeOver' }>,
    handle: SendHandle | undefined,
  ): void {
    const { engine: index, state, rest, compresses } = session;
    const moving = deserialize(Buffer.from(state, 'base64')) as Moving;
    const engine = this.worker.engines[index];
    const relay = this.worker.relays[index];
    if (handle && engine && relay) {
      const connection = { socket: socketOn(handle), compresses, rest: Buffer.from(rest, 'base64') };
      return this.arrive(engine, relay, this.node.nameOf(from), moving, connection);
    }
    if (handle) closeHandle(handle);
    relay?.tellArrived(this.node.nameOf(from), moving.id, 'the connection is missing');
  }

  private arrive(engine: Engine, relay: Relay, from: string, moving: Moving, connection?: Connection): void {
    const { id, connects } = moving;
    const io = this.worker.servers.find((one) => (one.engine as unknown) === engine);
    engine.arrive(moving, connection, (session, webSocket) => {
      let isOver = false;
      const over = (failure?: string) => {
        if (isOver) return;
        isOver = true;
        clearTimeout(timer);
        for (const { auth } of connects) forgetArrival(auth.pid);
        relay.tellArrived(from, id, failure);
        // The listeners of `connection` run first.
        if (failure === undefined)
          setImmediate(() => (webSocket ? webSocket.goOn(connection!.rest) : session!.polling?.handleHeldPost()));
        else {
          if (session?.polling) session.dismiss();
          webSocket?.close();
          connection?.socket.destroy();
        }
      };
      const timer = setTimeout(() => over('too slow'), MAX_MOVE_MS);
      if (!session || !io) return over('not let in');
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
    const moving: Moving = { id: session.id, parts: session.request.toParts(), packets, connects };
    const state = serialize(moving);
    if (state.length <= MAX_STATE_BYTES) return state;
  } catch {
    // A middleware has put something into `auth` that cannot move.
  }
  session.addPackets(packets);
  return undefined;
}
