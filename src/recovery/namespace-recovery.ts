import type { Namespace, Socket } from 'socket.io';
import type { Adapter, Room, Session, SocketId } from 'socket.io-adapter';
import { completeOffsets, passEverything, recoveryTimesOf } from '../compat/socket-io.js';
import { isMember } from '../rooms/index.js';
import { Broadcasting } from './broadcasting.js';
import { OffsetWriter } from './encoding.js';
import type { RecoveryHost } from './host.js';
import { Expiries } from './kept/expiries.js';
import { Floors } from './kept/floors.js';
import { PacketLog } from './kept/packet-log.js';
import { Removals, type RemovalTarget } from './kept/removals.js';
import { type KeptSession, NO_WORKER, Sessions } from './kept/sessions.js';
import { type KeptPacket, Stream } from './kept/stream.js';
import { type LiveSession, LiveSessions } from './live-sessions.js';
import type { LiveState, RecoveryMessage } from './messages.js';
import { encodeNumbers, NO_OFFSET, numbersIn } from './offset.js';
import { Loans } from './peers/loans.js';
import type { Owner } from './peers/owner.js';
import { Peers } from './peers/peers.js';
import { Ahead, receivedBefore } from './returns/ahead.js';
import type { ForeignMessages } from './returns/foreign.js';
import type { Returning } from './returns/missed.js';
import { type Home, Returns } from './returns/returns.js';

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
