import type { Namespace, Socket } from 'socket.io';
import type { Adapter, Room, Session, SocketId } from 'socket.io-adapter';
import { isMember } from '../../io/rooms/index.js';
import { completeOffsets, passEverything, recoveryTimesOf } from '../../io/socket-io.private.js';
import { Broadcasting } from './broadcasting.js';
import { Expiries } from './kept/expiries.js';
import { Floors, type Naming, Removals, type RemovalTarget } from './kept/memory.js';
import { PacketLog } from './kept/packet-log.js';
import { type KeptSession, NO_WORKER, type SessionMemory, Sessions } from './kept/sessions.js';
import { type KeptPacket, type PacketMemory, Stream } from './kept/stream.js';
import { type LiveSession, LiveSessions } from './live-sessions.js';
import { type LiveState, type LoanQuestion, OffsetWriter, type RecoveryMessage } from './messages.js';
import { encodeNumbers, NO_OFFSET, numbersIn, type RecoveryOutcome } from './offset.js';
import { Loans, type Owner } from './peers/loans.js';
import { Peers } from './peers/peers.js';
import { Ahead, type ForeignMessages, receivedBefore } from './returns/foreign.js';
import type { Gate, Returning } from './returns/missed.js';
import { type Home, Returns } from './returns/returns.js';

export interface RecoveryBounds {
  /** How many bytes of packets, and of disconnected sessions, a worker keeps. The oldest are dropped first. */
  readonly maxBytes: number;
  /** How many disconnected sessions a worker keeps for each namespace. The oldest are dropped first. */
  readonly maxSessions: number;
  /** The rooms of a session that can be recovered. */
  readonly maxRooms: number;
  /** The packets that a client may have missed, and their bytes. */
  readonly maxMissed: number;
  readonly maxMissedBytes: number;
  /** The packets that all clients together may be sent in ten seconds because they had missed them, and their bytes. */
  readonly maxReplayed: number;
  readonly maxReplayedBytes: number;
  /** The recoveries in progress on a worker. */
  readonly maxRecovering: number;
}

/** The parts of a worker that the recovery of its namespaces shares. */
export interface RecoveryHost {
  /** Names this worker in offsets. */
  readonly name: string;
  readonly memory: PacketMemory;
  readonly sessionMemory: SessionMemory<KeptSession>;
  readonly bounds: RecoveryBounds;
  readonly gate: Gate;
  readonly spansMachines: boolean;
  /** How late a message of another machine may arrive, and by how far the clocks of two may differ, together, in ms. */
  readonly slackMs: number;
  /** How the operator names clients. */
  readonly naming: Naming;
  /** Counts how an attempt of a client to recover has ended. */
  count(outcome: RecoveryOutcome): void;
  /** Resolves when this worker receives what the others send to its namespaces. */
  subscribed(): Promise<void>;
  /** Resolves with true when what other machines sent before the call has arrived; with false if that takes too long. */
  caughtUp(): Promise<boolean>;
  /** The id of this worker on its machine. */
  readonly id: number;
  /** The ids of the other workers of this machine. */
  readonly members: readonly number[];
  /** The name of a worker of this machine, as far as its id tells it. */
  nameOf(id: number): string | undefined;
  send(to: number, message: RecoveryMessage): void;
  /** What was sent to this machine's workers arrives, even if this one is killed next. */
  flush(): void;
  /**
   * Asks all other workers, those of other machines included. Does not reject.
   * @returns their answers, and whether each has answered in time
   */
  askAll(nsp: string, question: LoanQuestion): Promise<{ answers: readonly unknown[]; isComplete: boolean }>;
  /** Sends to all other workers, those of other machines included. */
  tellAll(message: RecoveryMessage): void;
}

/** How long the worker that has served a session has to report that it has expired, in ms: longer than between two sweeps. */
const EXPIRY_DELAY_MS = 8000;
/** Within this time after that, in ms, each other worker has a moment of its own to report it. */
const EXPIRY_TURNS_MS = 30_000;

/** By how much longer than packets are kept the floors of sessions are, in ms. */
const FLOOR_SLACK_MS = 30_000;

/** Recovery in one namespace. It adds itself to the namespace's adapter, whatever backplane that belongs to. */
export class NamespaceRecovery implements Owner, Home {
  readonly log: PacketLog;
  readonly sessions: Sessions;
  readonly live: LiveSessions;
  readonly removals: Removals;
  readonly expiries: Expiries;
  readonly peers: Peers;
  readonly loans: Loans;
  readonly writer: OffsetWriter;
  readonly ahead = new Ahead();
  private readonly expiryTurnMs = Math.random() * EXPIRY_TURNS_MS;
  private readonly returns: Returns;
  private readonly broadcasting: Broadcasting;

  constructor(
    readonly adapter: Adapter,
    readonly nsp: Namespace,
    private readonly host: RecoveryHost,
  ) {
    const { memory } = host;
    const isWorker = (name: string) => host.spansMachines || host.members.some((id) => host.nameOf(id) === name);
    this.log = new PacketLog(host.name, memory, () => this.retentionMs, isWorker);
    this.removals = new Removals(host.naming);
    this.expiries = new Expiries({
      durationMs: () => this.times.durationMs,
      maxSessions: host.bounds.maxSessions,
      delayOf: ({ worker }) => this.delayOf(worker),
      tell: (session) => this.peers.expired(session),
    });
    this.sessions = new Sessions(
      host.sessionMemory,
      host.bounds.maxSessions,
      () => this.times.durationMs,
      this.removals,
      this.expiries,
    );
    this.peers = new Peers(this, host);
    this.loans = new Loans(this, host);
    this.live = new LiveSessions(
      memory,
      () => this.peers.buddies.current,
      (buddy, changes) => host.send(buddy, { type: 'live', nsp: nsp.name, worker: host.name, ...changes }),
    );
    this.writer = new OffsetWriter(nsp);
    this.returns = new Returns(this, host);
    this.broadcasting = new Broadcasting(this);
    this.install();
  }

  /** Messages of emitters, and of servers without recovery. */
  get foreign(): ForeignMessages {
    return this.broadcasting.foreign;
  }

  private get times(): { durationMs: number; silenceMs: number } {
    return recoveryTimesOf(this.nsp);
  }

  /** How long packets are kept: a client may have received nothing for a while before it counts as gone. */
  get retentionMs(): number {
    return this.times.durationMs + this.times.silenceMs + this.host.slackMs;
  }

  private install(): void {
    const { adapter } = this;
    const { addAll, del, delAll } = adapter;
    passEverything(adapter);
    completeOffsets(this.nsp, NO_OFFSET);
    adapter.persistSession = (session) => this.onDisconnect(session as Session & { pid: string });
    adapter.restoreSession = (pid, offset) => this.returns.restore(pid, offset) as never;
    adapter.addAll = (id, rooms) => {
      const session = this.live.of(id);
      const joined = session ? [...rooms].filter((room) => !isMember(adapter.sids, id, room)) : [];
      const result = addAll.call(adapter, id, rooms);
      if (session) this.onJoin(session, joined);
      else if (rooms.has(id)) {
        const socket = this.nsp.sockets.get(id);
        if (socket) this.onConnect(socket);
      }
      return result;
    };
    adapter.del = (id, room) => {
      const result = del.call(adapter, id, room);
      const session = this.live.of(id);
      session?.floors?.leave(room);
      if (session) this.live.note(session);
      return result;
    };
    adapter.delAll = (id) => {
      this.onGone(id);
      delAll.call(adapter, id);
    };
  }

  /** @param rooms those in which the socket was not before */
  private onJoin(session: LiveSession, rooms: readonly Room[]): void {
    const floor = this.log.floor();
    for (const room of rooms) {
      this.live.joined(session, room, floor);
      if (room !== session.socket.id) this.peers.joined(String(room));
    }
    this.live.note(session);
  }

  private onConnect(socket: Socket): void {
    const returning = this.returns.take(socket.id);
    if (returning && this.returns.isRemoved(returning)) return void setImmediate(() => socket.conn.close(true));
    const { recoveries, aliveAt = Date.now() } = returning?.session ?? {};
    const floors = returning ? this.floorsOf(returning.session, socket) : new Floors(this.log.floor());
    const has = this.noteLead(socket, returning);
    const session = this.live.add(socket, { resumedFrom: returning?.resumedFrom, recoveries, aliveAt, floors, has });
    if (!returning) return;
    for (const room of socket.rooms) if (room !== socket.id) this.peers.joined(String(room));
    this.returns.complete(socket, session, returning);
  }

  /** @returns what the client has received and this worker has not, if so: numbers as in an offset */
  private noteLead(socket: Socket, returning: Returning | undefined): string | undefined {
    const offset = returning?.offset ?? receivedBefore(socket);
    // On one machine, a worker that starts learns all from before. Another one may have had the same name before a restart.
    if (!offset || (!this.host.spansMachines && offset.at < this.log.startedAt)) return undefined;
    const senders = numbersIn(returning?.session.has ?? '');
    for (const [sender, number] of offset.senders) senders.set(sender, Math.max(number, senders.get(sender) ?? 0));
    const lead = this.ahead.add(socket.id, { ...offset, senders }, (sender) => this.log.headOf(sender).last);
    return lead && encodeNumbers(lead);
  }

  /** A middleware may have added rooms to those of the session. */
  private floorsOf({ floors: kept, rooms, sid }: KeptSession, socket: Socket): Floors {
    const floors = Floors.of(kept);
    const known = new Set<Room>(rooms);
    for (const room of socket.rooms) if (room !== sid && !known.has(room)) floors.join(room, this.log.floor());
    return floors;
  }

  /** A socket is disconnected, and its client may return. */
  private onDisconnect({ pid, sid, rooms, data }: Session & { pid: string }): void {
    const live = this.live.get(pid);
    if (!live) return;
    const { resumedFrom, recoveries, aliveAt, floors, has, address, connection } = live;
    this.keepSession(
      { pid, sid, rooms, data, resumedFrom, recoveries, aliveAt, floors: floors?.state(), has, address, connection },
      this.host.name,
      live.direct ?? new Stream(this.host.memory),
    );
    live.direct = undefined;
  }

  /** How long the expiry of a session is left to other workers, in ms: first of all, to the one that has served it. */
  private delayOf(worker: string): number {
    const { host } = this;
    if (worker === host.name) return 0;
    // Which workers of other machines are there is not known. The first one tells the others.
    if (host.spansMachines) return EXPIRY_DELAY_MS + this.expiryTurnMs;
    const reporter = host.members.find((id) => host.nameOf(id) === worker) ?? Math.min(host.id, ...host.members);
    return reporter === host.id ? 0 : Number.POSITIVE_INFINITY;
  }

  /** Keeps a session and tells the other workers. */
  keepSession(state: LiveState, worker: string, direct: Stream): void {
    const disconnectedAt = Date.now();
    const aliveAt = Math.max(state.aliveAt, disconnectedAt - this.times.silenceMs);
    const session = { ...state, worker, direct, disconnectedAt, aliveAt };
    if (state.rooms.length <= this.host.bounds.maxRooms) return this.peers.share(session);
    // Only so much is kept that the client can be told apart from an unknown one.
    direct.release();
    const empty = { rooms: [], data: undefined, floors: undefined, resumedFrom: undefined };
    this.peers.share({ ...session, ...empty, worker: NO_WORKER, direct: new Stream(this.host.memory) });
  }

  /**
   * Removes what is kept of the clients that the operator ends.
   * @returns the ids of the sockets that were disconnected
   */
  remove(target: RemovalTarget): string[] {
    if ('namespace' in target && target.namespace !== this.nsp.name) return [];
    const matches = this.removals.add(target);
    return [...this.peers.remove(target, matches), ...this.returns.named(matches)];
  }

  private onGone(sid: SocketId): void {
    const session = this.live.of(sid);
    if (session) {
      this.ahead.remove(sid);
      this.live.remove(session);
      session.direct?.release();
    }
    // A middleware has rejected the client, or it has left before it was connected. It may try again.
    const returning = this.returns.take(sid);
    if (returning) this.peers.share(returning.session);
  }

  deliver(sender: string, packet: KeptPacket): void {
    this.broadcasting.deliver(sender, packet);
  }

  receive(from: number | undefined, message: RecoveryMessage): void {
    this.peers.receive(from, message);
  }

  workerGone(id: number): void {
    this.peers.workerGone(id);
    this.live.plan();
  }

  /** Resolves when the other workers have what this one kept alone. The sockets are closed by then. */
  async leave(): Promise<void> {
    this.live.flush();
    await this.peers.leave();
  }

  sweep(): void {
    const oldest = Date.now() - this.retentionMs;
    this.foreign.sweep(oldest);
    this.sessions.sweep();
    this.expiries.sweep();
    this.ahead.sweep();
    this.live.sweep(oldest - FLOOR_SLACK_MS);
    this.removals.sweep(Date.now() - this.times.durationMs);
    this.peers.sweep(Date.now() - this.times.durationMs);
    this.log.sweep();
  }

  /** This worker may have lost messages. */
  lost(): void {
    this.log.start();
  }

  close(): void {
    this.live.close();
    this.sessions.close();
    this.expiries.close();
    this.log.close();
    this.peers.close();
    this.loans.close();
  }
}
