import type { SendHandle } from 'node:child_process';
import type { Socket } from 'node:net';
import { deserialize, serialize } from 'node:v8';
import {
  clearInterval,
  clearTimeout,
  performance,
  setImmediate,
  setInterval,
  setTimeout,
} from '../../../base/clock.js';
import { owned } from '../../../base/owner.js';
import type { Node } from '../../../cluster/node.js';
import type { FromPrimary } from '../../../cluster/protocol.js';
import type { Relay, Successors } from '../../../cluster/relay/relay.js';
import type { Engine } from '../../../engine/engine.js';
import { closeHandle, sendableHandleOf, socketOn } from '../../../engine/node/node-net.private.js';
import type { ArrivingSession } from '../../../engine/session/handshake.js';
import type { Session } from '../../../engine/session/session.js';
import { depart, departing, expectArrival } from '../../../features/recovery/index.js';
import {
  type Connect,
  clientOf,
  encodeConnects,
  isBusy,
  type MovingClient,
} from '../../../io/moving-clients.private.js';
import type { MachineWorker } from '../machine-worker.js';
import type { DrainGroup } from './drain.js';

/** How many sessions are on their way at once. Each is silent until it has arrived, and connections travel one by one. */
const MAX_MOVING = 32;
/** How often sessions move, in ms: for half of this time at most. */
const TURN_MS = 10;
/** How long this worker stays after the last arrival, in ms: presence tells others of a user within this time. */
const STAY_MS = 200;
/** How long a session may take to arrive, in ms. */
const MAX_MOVE_MS = 2000;
/** After this time without an answer, in ms, the new worker hangs. */
const MAX_SILENCE_MS = 3000;

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
  readonly timer: NodeJS.Timeout;
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
  /** Sessions that are about to move. Those that are busy are looked at again and again. */
  private readonly waiting = new Map<Session, Engine>();
  /** Sessions that cannot move. */
  private readonly staying = new WeakSet<Session>();
  private timer: NodeJS.Timeout | undefined;
  private successor: number | undefined;
  private staysUntil = 0;
  /** How many clients have arrived, and how many had to reconnect. */
  readonly outcome = { moved: 0, failed: 0 };

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

  /** Sessions go on on this worker from now on, where possible. */
  begin(successor: number | undefined): void {
    if (successor === undefined || !this.worker.mesh.has(successor)) return;
    this.successor = successor;
    for (const engine of this.worker.engines) {
      for (const session of Object.values(engine.clients)) this.takes(engine, session);
    }
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
    this.timer ??= setInterval(() => this.moveSome(), TURN_MS);
    return true;
  }

  /** Moves for half of the time: the other clients are served, too. */
  private moveSome(): void {
    const end = performance.now() + TURN_MS / 2;
    for (const [session, engine] of this.waiting) {
      if (this.departed.size >= MAX_MOVING || performance.now() >= end) break;
      if (session.readyState !== 'open' || this.move(engine, session)) this.waiting.delete(session);
    }
    if (this.waiting.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
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
    const state = stateOf(session, client);
    if (!state) {
      this.staying.add(session);
      this.waiting.delete(session);
      return false;
    }
    const { id } = session;
    const sids = [...client.sockets.keys()];
    for (const sid of sids) departing.add(sid);
    const { webSocket, poll } = engine.handOver(session);
    for (const sid of sids) departing.delete(sid);
    const timer = setTimeout(() => this.giveUp(), MAX_SILENCE_MS);
    this.departed.set(id, { socket: webSocket?.socket, timer });
    const { orders, engines, relays } = this.worker;
    const index = engines.indexOf(engine);
    if (webSocket) {
      const { socket, rest, compresses } = webSocket;
      const handed = { engine: index, state: state.toString('base64'), rest: rest.toString('base64'), compresses };
      orders.sendWith(sendableHandleOf(socket), { type: 'handOver', to, session: handed });
    } else relays[index]!.handOver(this.node.nameOf(to), id, state, poll);
    return true;
  }

  /** The successor hangs or is gone: what is on its way returns by itself, and the others are dismissed. */
  private giveUp(): void {
    this.successor = undefined;
    this.waiting.clear();
    for (const id of [...this.departed.keys()]) this.arrived(id, false);
  }

  private arrived(id: string, isThere: boolean): void {
    const departed = this.departed.get(id);
    if (!departed) return;
    this.departed.delete(id);
    clearTimeout(departed.timer);
    this.staysUntil = performance.now() + STAY_MS;
    this.outcome[isThere ? 'moved' : 'failed']++;
    // A connection that another process still has ends only if it is shut down.
    if (isThere) departed.socket?.destroy();
    else departed.socket?.destroySoon();
  }

  /** Takes part in the moves of an engine's sessions. */
  watch(engine: Engine, relay: Relay): void {
    relay.onArrived = (id, isHere) => this.arrived(id, isHere);
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
    relay?.tellArrived(this.node.nameOf(from), moving.id, false);
  }

  private arrive(engine: Engine, relay: Relay, from: string, moving: Moving, connection?: Connection): void {
    const { id, connects } = moving;
    const io = this.worker.servers.find((one) => (one.engine as unknown) === engine);
    engine.arrive(moving, connection, (session, webSocket) => {
      let isOver = false;
      const over = (isHere: boolean) => {
        if (isOver) return;
        isOver = true;
        clearTimeout(timer);
        relay.tellArrived(from, id, isHere);
        // The listeners of `connection` run first.
        if (isHere)
          setImmediate(() => (webSocket ? webSocket.goOn(connection!.rest) : session!.polling?.handleHeldPost()));
        else {
          if (session?.polling) session.dismiss();
          webSocket?.close();
          connection?.socket.destroy();
        }
      };
      const timer = setTimeout(() => over(false), MAX_MOVE_MS);
      if (!session || !io) return over(false);
      let missing = connects.length;
      for (const { auth } of connects) {
        expectArrival(auth.pid, (isHere) => {
          missing--;
          if (!isHere || missing === 0) over(isHere);
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
    return serialize({ id: session.id, parts: session.request.toParts(), packets, connects } satisfies Moving);
  } catch {
    session.addPackets(packets);
    return undefined;
  }
}
