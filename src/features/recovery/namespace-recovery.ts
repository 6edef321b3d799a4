import type { Namespace, Socket } from 'socket.io';
import type { Adapter, Room, Session, SocketId } from 'socket.io-adapter';
import { machineTime } from '../../base/clock.js';
import { joinTexts, NO_ROOM, nameOf, roomsNamed } from '../../base/names.js';
import { own } from '../../base/owner.js';
import { noteClient } from '../../io/moving-clients.private.js';
import { isMember } from '../../io/rooms/index.js';
import {
  completeOffsets,
  givenIdsOf,
  passEverything,
  pidOf,
  type RecoverySettings,
  recoverySettingsOf,
} from '../../io/socket-io.private.js';
import { BroadcastNumbers } from './broadcast-numbers.js';
import { Broadcasting } from './broadcasting.js';
import { JoinedRooms } from './joined-rooms.js';
import { Floors, Removals, type RemovalTarget } from './keeper/memory.js';
import type { KeptPacket } from './keeper/stream.js';
import { type LiveSession, LiveSessions } from './live-sessions.js';
import type {
  ExpiredSession,
  ExpiryListener,
  Found,
  NamespaceOptions,
  Posted,
  SessionState,
  ToKeeper,
  ToWorker,
} from './messages.js';
import { departing, isArriving } from './moves.js';
import { decodeOffset, mayBeId, NO_OFFSET, type Offset, type RecoveryOutcome } from './offset.js';
import { OffsetWriter } from './offset-writer.js';
import type { ServerRecovery } from './recovery.js';
import { ClientsAhead, namedBefore } from './returns/clients-ahead.js';
import type { Gate } from './returns/gate.js';
import { type Returning, Returns } from './returns/returns.js';
import { VersionVector } from './version-vector.js';

/** By how much longer than packets are kept the floors of sessions are, in ms. */
const FLOOR_SLACK_MS = 30_000;

/** The handovers of one connection that are remembered. Its client has received something since the one before. */
const MAX_HANDOVERS = 32;

/** Recovery in one namespace. It adds itself to the namespace's adapter, whatever backplane that belongs to. */
export class NamespaceRecovery {
  readonly numbers: BroadcastNumbers;
  readonly live: LiveSessions;
  readonly writer: OffsetWriter;
  readonly clientsAhead = new ClientsAhead();
  readonly gate: Gate;
  private readonly namespace: string;
  private readonly removals = new Removals();
  private readonly joined = new JoinedRooms();
  private readonly givenIds: WeakMap<Socket, SocketId>;
  private readonly returns: Returns;
  private readonly broadcasting: Broadcasting;
  private readonly listeners = new Set<ExpiryListener>();
  private told: RecoverySettings | undefined;

  constructor(
    readonly adapter: Adapter,
    readonly nsp: Namespace,
    private readonly host: ServerRecovery,
  ) {
    const { link } = host;
    this.gate = host.gate;
    this.namespace = joinTexts(String(host.server), nsp.name);
    this.numbers = new BroadcastNumbers(host.name, () => this.retentionMs, host.counts);
    this.live = new LiveSessions(
      host.name,
      host.bounds.maxRooms,
      link.packer,
      (data) => host.userOf(data),
      (message) => this.post(message),
      () => link.plan(),
      this.settings.killedWorkers ? undefined : host.bounds.maxBytes,
    );
    this.writer = new OffsetWriter(nsp);
    this.returns = new Returns(this);
    this.broadcasting = new Broadcasting(this);
    this.givenIds = givenIdsOf(nsp);
    this.install();
    link.add(this.namespace, this);
  }

  /** Its engine, which knows some of them, may be attached after the namespace was made. */
  private get settings(): RecoverySettings {
    return recoverySettingsOf(this.nsp);
  }

  private optionsOf({
    durationMs,
    silenceMs,
    maxBackpressure = Number.POSITIVE_INFINITY,
  }: RecoverySettings): NamespaceOptions {
    const { bounds } = this.host;
    // What a client has missed is sent at once, and must not make it count as slow.
    const maxMissedBytes = Math.min(bounds.maxMissedBytes, maxBackpressure / 2);
    return { ...bounds, durationMs, silenceMs, maxMissedBytes };
  }

  /** How long packets are kept: a client may have received nothing for a while before it counts as gone. */
  private get retentionMs(): number {
    const { durationMs, silenceMs } = this.settings;
    return durationMs + silenceMs + this.host.bounds.slackMs;
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
      // One that has left all rooms begins again with the next one.
      const isEntering = rooms.has(id) || !adapter.sids.has(id);
      const joined = session ? [...rooms].filter((room) => !isMember(adapter.sids, id, room)) : [];
      const result = addAll.call(adapter, id, rooms);
      if (session) this.onJoin(session, joined);
      else if (isEntering) {
        const socket = this.nsp.sockets.get(id);
        if (socket) this.onConnect(socket);
      }
      return result;
    };
    adapter.del = (id, room) => {
      const session = this.live.of(id);
      if (session && isMember(adapter.sids, id, room)) this.live.left(session, nameOf(room));
      return del.call(adapter, id, room);
    };
    adapter.delAll = (id) => {
      this.onGone(id);
      delAll.call(adapter, id);
    };
  }

  /** @param rooms those in which the socket was not before */
  private onJoin(session: LiveSession, rooms: readonly Room[]): void {
    const floor = this.numbers.floor();
    for (const room of rooms) {
      this.live.joined(session, nameOf(room), floor);
      if (room !== session.socket.id) this.tellJoined(room);
    }
  }

  private tellJoined(room: Room): void {
    const owner = this.live.of(room);
    if (owner) return this.live.share(owner);
    if (!mayBeId(room)) return;
    this.post({ type: 'joined', room });
    this.hurry();
  }

  private onConnect(socket: Socket): void {
    this.tellSettings();
    noteClient(socket);
    const returning = this.returns.take(socket.id);
    if (!returning) {
      const named = namedBefore(socket);
      const offset = named ? decodeOffset(named) : undefined;
      const alsoReceived = offset && this.noteLead(socket.id, offset.senders, offset.at);
      const floors = new Floors(this.numbers.floor());
      // Sockets elsewhere may have the id that an application gives, or be in its room. No other worker knows any other id yet.
      const isShared = !mayBeId(socket.id) || this.givenIds.get(socket) !== socket.id;
      this.live.add(socket, {
        ...{ resumedFrom: undefined, named: offset && named, handedOver: undefined },
        ...{ aliveAt: machineTime(), floors, alsoReceived, isShared },
      });
      return;
    }
    if (this.removals.covers({ ...returning.session, disconnectedAt: machineTime() }))
      return this.returns.refuse(socket, returning);
    this.returns.complete(socket, returning, () => this.return(socket, returning));
  }

  private return(socket: Socket, { session, resumedFrom, named, upTo, isKnown }: Returning): LiveSession {
    const floors = this.floorsOf(session, socket);
    const offset = decodeOffset(resumedFrom)!;
    const before = VersionVector.parse(session.alsoReceived);
    const senders = VersionVector.union(before, offset.senders);
    // What a client that moves has received, its worker has named, and not the client.
    const isMoved = isArriving(session.pid);
    const known = isMoved ? before : senders;
    const said = isMoved
      ? { named: session.named ?? session.resumedFrom, handedOver: handedOverBy(offset, session.handedOver) }
      : { named: named === resumedFrom ? undefined : named, handedOver: undefined };
    const beyond = known.beyond({ of: (sender) => Math.min(this.numbers.lastOf(sender), offset.senders.of(sender)) });
    const alsoReceived = beyond.size > 0 ? `${beyond}` : undefined;
    this.noteLead(socket.id, VersionVector.union(senders, VersionVector.parse(upTo)), undefined);
    const isShared = session.isShared || this.joined.mayHave(socket.id);
    const live = this.live.add(socket, {
      resumedFrom,
      ...said,
      aliveAt: session.aliveAt,
      floors,
      alsoReceived,
      isShared,
    });
    if (!isKnown) live.hasUpTo = VersionVector.parse(upTo);
    for (const room of socket.rooms) if (room !== socket.id) this.tellJoined(room);
    return live;
  }

  /** @returns what the client has received and this worker has not, if so */
  private noteLead(sid: SocketId, senders: VersionVector, at: number | undefined): string | undefined {
    return this.clientsAhead.add(sid, { senders, at }, (sender) => this.numbers.lastOf(sender))?.toString();
  }

  private tellSettings(): void {
    const { settings, told } = this;
    const { durationMs, silenceMs, maxBackpressure } = settings;
    if (durationMs === told?.durationMs && silenceMs === told.silenceMs && maxBackpressure === told.maxBackpressure)
      return;
    this.told = settings;
    this.post({ type: 'options', options: this.optionsOf(settings) });
  }

  /** A middleware may have added rooms to those of the session. */
  private floorsOf({ floors: kept, rooms, sid }: SessionState, socket: Socket): Floors {
    const floors = Floors.of(kept);
    const known = new Set(rooms);
    for (const name of Array.from(socket.rooms, nameOf))
      if (name !== sid && !known.has(name)) floors.join(name, this.numbers.floor());
    return floors;
  }

  /** A socket is disconnected, and its client may return. */
  private onDisconnect({ pid }: Session & { pid: string }): void {
    const live = this.live.get(pid);
    if (live && !departing.has(live.id)) this.live.away(live);
  }

  /** What a client would return with that had received all that its socket was sent; undefined if it cannot return. */
  depart(socket: Socket): { pid: string; offset: string } | undefined {
    const session = this.live.get(pidOf(socket));
    if (!session || !this.bus.isUp || socket.rooms.size > this.host.bounds.maxRooms) return undefined;
    const { pid, lastDirect, floor } = session;
    return { pid, offset: this.numbers.offset(this.numbers.nextTime(), Math.max(lastDirect, floor)) };
  }

  private onGone(sid: SocketId): void {
    const session = this.live.of(sid);
    if (session) {
      // As stock does for other reasons: after `disconnecting`, and before `disconnect`.
      if (departing.has(sid)) {
        this.live.depart(session);
        this.hurry();
      }
      this.clientsAhead.remove(sid);
      this.live.remove(session);
    }
    this.returns.leave(sid);
  }

  /** The keeper keeps a broadcast of this worker. It has it before the other workers have. */
  keep(packet: KeptPacket): void {
    this.post({ type: 'packet', packet });
    this.host.hold();
  }

  /** Tells the keeper soon. */
  post(message: Posted): void {
    this.host.link.post({ ...message, namespace: this.namespace } as ToKeeper);
  }

  unpack(data: unknown): unknown {
    return this.host.link.packer.unpack(data);
  }

  get bus(): ServerRecovery['bus'] {
    return this.host.bus;
  }

  /** The keeper has found a session. Until its client is connected, messages to its id come here, too. */
  onTaking({ request, pid, sid }: Pick<Extract<ToWorker, { type: 'taking' }>, 'request' | 'pid' | 'sid'>): void {
    const known = this.returns.expect(pid, sid).then(() => {
      this.post({ type: 'announced', answers: request });
      this.hurry();
    });
    own('announcing a socket that returns', known);
  }

  /** See {@link Returns.prepare}. */
  prepare(pid: string, sid: SocketId): Promise<void> {
    return this.returns.prepare(pid, sid);
  }

  /** Asks the keeper for a session, and for what its client lacks. */
  async find(pid: string, offset: string, isAnnounced: boolean): Promise<Found | undefined> {
    const answer = await this.host.link.ask<Extract<ToWorker, { type: 'found' }>>({
      ...{ type: 'find', namespace: this.namespace, pid, offset, received: `${this.numbers.received}` },
      receivesSince: this.numbers.since,
      isAnnounced,
      isMoving: isArriving(pid),
    });
    return answer?.found;
  }

  /** What is posted reaches the keeper at the end of this turn, before what clients are sent together then. */
  hurry(): void {
    this.host.link.hurry();
  }

  /** What is posted reaches the keeper, even if this worker is killed next. */
  flush(): void {
    this.host.link.flush();
  }

  count(outcome: RecoveryOutcome): void {
    this.host.count(outcome);
  }

  /** Notes that the operator ends clients. @returns those that are about to be connected */
  remove(target: RemovalTarget): string[] {
    if ('namespace' in target && target.namespace !== this.nsp.name) return [];
    return this.returns.named(this.removals.add(target));
  }

  listenToExpiries(listener: ExpiryListener): () => void {
    this.listeners.add(listener);
    if (this.listeners.size === 1) this.post({ type: 'listen', isListening: true });
    return () => {
      if (this.listeners.delete(listener) && this.listeners.size === 0)
        this.post({ type: 'listen', isListening: false });
    };
  }

  /** Tells a keeper that does not know the namespace yet. */
  introduce(isAgain: boolean): void {
    const { name } = this.host;
    // Its first client tells what the engine says: a worker that opens later may not have one yet.
    this.told = undefined;
    this.post({ type: 'open', name, sent: this.numbers.sent, isAgain, options: this.optionsOf(this.settings) });
    if (!this.bus.isUp) this.onBus(false);
    if (this.listeners.size > 0) this.post({ type: 'listen', isListening: true });
    this.live.introduce(this.numbers.direct, machineTime() - this.settings.silenceMs);
  }

  /** Posts what has changed since the last call. */
  postChanges(): void {
    this.live.postChanges();
  }

  /**
   * Broadcasts that were sent in the last `ms` are lost. A client that has returned since may lack some, because what it
   * missed was gathered before. It returns again, before it gets a later one.
   */
  onLost(ms: number): void {
    this.live.endRecovered(machineTime() - ms);
  }

  onJoined(room: string): void {
    const session = this.live.of(room);
    if (session) this.live.share(session);
    else this.joined.add(room);
  }

  onEnded(sender: string, last: number): void {
    const after = this.numbers.lastOf(sender);
    // One that this worker knows nothing of has sent before it began.
    if (after > 0 && after < last) this.post({ type: 'tail', sender, after });
  }

  onTail(sender: string, packets: readonly KeptPacket[]): void {
    for (const packet of packets) this.broadcasting.deliver(sender, packet);
  }

  onBus(isUp: boolean): void {
    this.post({ type: 'bus', isUp });
  }

  /** The client of a socket here returns elsewhere, before its old connection has been found dead. */
  onEnd(pid: string): void {
    this.live.get(pid)?.socket.conn.close(true);
  }

  onExpired(session: ExpiredSession): void {
    const data = this.unpack(session.data);
    const rooms = roomsNamed(session.rooms).filter((room) => room !== NO_ROOM);
    for (const listener of this.listeners) listener({ ...session, rooms, data });
  }

  sweep(): void {
    this.clientsAhead.sweep();
    this.numbers.sweep();
    this.live.sweep(machineTime() - this.retentionMs - FLOOR_SLACK_MS);
    const oldest = machineTime() - this.settings.durationMs;
    this.removals.sweep(oldest);
    this.joined.sweep(oldest);
  }

  close(): void {
    this.host.link.remove(this.namespace, this);
  }
}

/** The workers that have handed over a connection, see `SessionState`. */
function handedOverBy({ worker, direct }: Offset, before: string | undefined): string {
  return `${new VersionVector([...VersionVector.parse(before), [worker, direct] as const].slice(-MAX_HANDOVERS))}`;
}
