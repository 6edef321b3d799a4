import { createHash } from 'node:crypto';
import type { Socket } from 'socket.io';
import type { SocketId } from 'socket.io-adapter';
import { machineTime } from '../../base/clock.js';
import { nameOf } from '../../base/names.js';
import { Allowance, type Rate } from '../../engine/limits/rates.js';
import { pidOf } from '../../io/socket-io.private.js';
import { type Floor, Floors, type RoomsFloor } from './keeper/memory.js';
import { NO_WORKER } from './keeper/sessions.js';
import { type KeptPacket, PacketMemory, Stream } from './keeper/stream.js';
import {
  type DataPacker,
  type Posted,
  type Replayed,
  type SessionChange,
  type SessionState,
  WINDOW_MS,
} from './messages.js';
import { VersionVector } from './version-vector.js';

/** The bytes of changes that a worker posts in a window. What is more waits for the next one. */
const WINDOW_RATE: Rate = { amount: 256 * 1024, per: WINDOW_MS };
/** The same of one session. A client whose session changes by more owes it, and waits. */
const SESSION_RATE: Rate = { amount: 64 * 1024, per: 1000 };
/** What a room, or a message about a session, takes besides its text, in bytes. */
const OVERHEAD_BYTES = 16;
/** Of longer data, a hash is remembered. */
const MAX_REMEMBERED = 64;

/** A connected socket, as far as the keeper does not know it from elsewhere. */
export interface LiveSession {
  readonly socket: Socket;
  /** That in the adapter: the application may have set another one on the socket since. */
  readonly id: SocketId;
  readonly pid: string;
  readonly resumedFrom: string | undefined;
  readonly named: string | undefined;
  readonly handedOver: string | undefined;
  /** The client has received everything that it was sent before this time. */
  aliveAt: number;
  readonly address: string | undefined;
  readonly connection: string;
  /** Undefined once all packets are newer. */
  floors: Floors | undefined;
  /** What the client has received and this worker had not when it connected: a version vector. */
  alsoReceived: string | undefined;
  replayed: Replayed | undefined;
  /** If messages to its id may still come that the keepers had, up to which ones the client has those already. */
  hasUpTo: VersionVector | undefined;
  /** When it was connected. */
  readonly connectedAt: number;
  /** What the keeper knows: nothing, its rooms, or only that it is in too many of them. */
  told: 'nothing' | 'all' | 'too many rooms';
  /** Whether other sockets may be in its own room, here or on other workers. */
  isShared: boolean;
  /** The rooms that were joined since, with their floors, and those that were left. */
  changes: Map<string, Floor | undefined> | undefined;
  /** The data that the keeper has, or a hash of it. */
  data: unknown;
  costs: Allowance | undefined;
  isStale: boolean;
  /** Of the packets to it alone, those up to this one are not kept. */
  floor: number;
  floorAt: number;
  /** The last packet to it alone. */
  lastDirect: number;
  /** The packets to it alone that the keeper gets when the client is disconnected. */
  held: Stream | undefined;
}

/** The connected sockets of this worker in one namespace. The keeper has a copy of each, and what it was sent alone. */
export class LiveSessions {
  private readonly byPid = new Map<string, LiveSession>();
  private readonly bySid = new Map<string, LiveSession>();
  /** Those with floors. */
  private readonly young = new Set<LiveSession>();
  /** Those with changes to post. */
  private readonly changed = new Set<LiveSession>();
  private readonly window = new Allowance(WINDOW_RATE, machineTime());
  /** Bounds the packets that are held; undefined if the keeper gets each at once. */
  private readonly held: PacketMemory | undefined;

  /**
   * @param worker the name of this worker
   * @param maxRooms the rooms of a session that can be recovered: the names of more are not sent
   * @param userOf the user of a socket with this data
   * @param maxHeldBytes the bytes of packets to single sockets that are held until these are disconnected; undefined if the keeper
   *   gets each at once
   * @param planPost is called when there are changes to post
   */
  constructor(
    private readonly worker: string,
    private readonly maxRooms: number,
    private readonly packer: Pick<DataPacker, 'pack'>,
    private readonly userOf: (data: unknown) => string | undefined,
    private readonly post: (message: Posted) => void,
    private readonly planPost: () => void,
    maxHeldBytes?: number,
  ) {
    this.held = maxHeldBytes === undefined ? undefined : new PacketMemory(maxHeldBytes);
  }

  get(pid: string): LiveSession | undefined {
    return this.byPid.get(pid);
  }

  of(sid: SocketId): LiveSession | undefined {
    return this.bySid.get(sid);
  }

  add(
    socket: Socket,
    state: Pick<
      LiveSession,
      'resumedFrom' | 'named' | 'handedOver' | 'aliveAt' | 'floors' | 'alsoReceived' | 'isShared'
    >,
  ): LiveSession {
    const { id: connection, remoteAddress: address } = socket.conn as unknown as { id: string; remoteAddress: string };
    const pid = pidOf(socket);
    const connectedAt = machineTime();
    const { resumedFrom, named, handedOver, aliveAt, floors, alsoReceived, isShared } = state;
    // Field by field: spreading costs more than all the rest of this method.
    const session: LiveSession = {
      socket,
      id: socket.id,
      pid,
      resumedFrom,
      named,
      handedOver,
      aliveAt,
      address,
      connection,
      floors,
      alsoReceived,
      replayed: undefined,
      hasUpTo: undefined,
      connectedAt,
      told: 'nothing',
      isShared,
      changes: undefined,
      data: undefined,
      costs: undefined,
      isStale: false,
      floor: 0,
      floorAt: 0,
      lastDirect: 0,
      held: undefined,
    };
    this.byPid.set(pid, session);
    this.bySid.set(socket.id, session);
    this.young.add(session);
    this.plan(session);
    return session;
  }

  /** Notes that a session has joined a room, after this worker had received what `floor` says. */
  joined(session: LiveSession, room: string, floor: Floor): void {
    session.floors ??= new Floors(undefined);
    session.floors.join(room, floor);
    this.young.add(session);
    this.note(session, room, floor);
  }

  left(session: LiveSession, room: string): void {
    session.floors?.leave(room);
    this.note(session, room, undefined);
  }

  private note(session: LiveSession, room: string, floor: Floor | undefined): void {
    session.changes ??= new Map();
    // A session with more changes is described as a whole.
    if (session.changes.size <= this.maxRooms) session.changes.set(room, floor);
    this.plan(session);
  }

  /** A packet is sent to this socket alone. */
  sent(session: LiveSession, { number, at, packets }: Pick<KeptPacket, 'number' | 'at' | 'packets'>): void {
    this.introduceOne(session);
    session.lastDirect = number;
    if (!this.held) return this.post({ type: 'direct', pid: session.pid, number, at, packets });
    session.held ??= new Stream(this.held);
    session.held.add({ number, at, packets, rooms: [], except: [] });
    this.markStale(session);
  }

  /** If its worker is killed now, the session cannot be recovered. */
  private markStale(session: LiveSession): void {
    if (session.isStale) return;
    session.isStale = true;
    this.post({ type: 'stale', pids: [session.pid] });
  }

  /** Tells the keeper of a session with all that it was sent alone. */
  private handOver(session: LiveSession): void {
    const { pid, held } = session;
    session.held = undefined;
    // Of what was dropped, the keeper learns with the whole session.
    if (held && held.floor > session.floor)
      Object.assign(session, { floor: held.floor, floorAt: held.floorAt, told: 'nothing' });
    this.tell(session);
    for (const { number, at, packets } of held?.state.packets ?? [])
      this.post({ type: 'direct', pid, number, at, packets });
    held?.release();
  }

  /** Another socket has joined the own room of a session, here or on another worker. */
  share(session: LiveSession): void {
    if (session.isShared) return;
    session.isShared = true;
    this.post({ type: 'shared', pid: session.pid });
  }

  /** The connection of the client goes on elsewhere: it has what was replayed, too. */
  depart(session: LiveSession): void {
    const { alsoReceived, replayed } = session;
    if (replayed) {
      const received = VersionVector.union(VersionVector.parse(alsoReceived), VersionVector.parse(replayed.numbers));
      Object.assign(session, { alsoReceived: `${received}`, replayed: undefined, told: 'nothing' });
    }
    this.away(session);
  }

  /** The client is disconnected, and may return. */
  away(session: LiveSession): void {
    this.handOver(session);
    this.post({ type: 'away', pid: session.pid });
  }

  remove(session: LiveSession): void {
    this.byPid.delete(session.pid);
    this.bySid.delete(session.id);
    this.changed.delete(session);
    this.young.delete(session);
    session.held?.release();
    this.post({ type: 'gone', pid: session.pid });
  }

  /** Ends the connections of clients that were recovered since a time. They return again. */
  endRecovered(since: number): void {
    const recovered = [...this.byPid.values()].filter(
      (one) => one.resumedFrom !== undefined && one.connectedAt >= since,
    );
    for (const { socket } of recovered) socket.conn.close(true);
  }

  /** Posts what has changed since the last call, new sessions first of all. Of the others, what is too much waits. */
  postChanges(): void {
    if (this.changed.size === 0) return;
    const now = machineTime();
    const stale: string[] = [];
    for (const session of this.changed) {
      const mayTell = this.window.has(0, now) && (session.costs?.has(0, now) ?? true);
      if (mayTell || session.told === 'nothing') {
        this.tell(session);
      } else if (!session.isStale) {
        session.isStale = true;
        stale.push(session.pid);
      }
    }
    if (stale.length > 0) this.post({ type: 'stale', pids: stale });
    if (this.changed.size > 0) this.planPost();
  }

  /**
   * A keeper that knows none of them is told of all. What they were sent alone before, it does not have.
   * @param aliveAt clients that were connected by then were still there
   */
  introduce(direct: number, aliveAt: number): void {
    for (const session of this.byPid.values()) {
      if (session.connectedAt <= aliveAt) session.aliveAt = Math.max(session.aliveAt, aliveAt);
      if (session.told !== 'nothing' && !this.held) Object.assign(session, { floor: direct, floorAt: machineTime() });
      session.told = 'nothing';
      this.tell(session);
    }
  }

  /** Forgets the floors of before a time. */
  sweep(oldest: number): void {
    this.held?.dropBefore(oldest);
    for (const session of this.young) {
      if (session.floors?.dropBefore(oldest)) continue;
      session.floors = undefined;
      this.young.delete(session);
    }
  }

  private plan(session: LiveSession): void {
    this.changed.add(session);
    this.planPost();
  }

  /** The keeper knows the session before anything that is posted from now on. */
  introduceOne(session: LiveSession): void {
    if (session.told === 'nothing') this.tell(session);
  }

  /** Tells the keeper what it does not know of a session. Its client is charged, unless the session is new. */
  private tell(session: LiveSession): void {
    const { told, changes = new Map<string, Floor>(), floor, floorAt } = session;
    this.changed.delete(session);
    session.changes = undefined;
    session.told = session.socket.rooms.size > this.maxRooms ? 'too many rooms' : 'all';
    if (told === 'too many rooms' && told === session.told) return;
    let bytes = OVERHEAD_BYTES;
    if (told !== session.told || changes.size > this.maxRooms) {
      const state = this.stateOf(session);
      bytes += bytesOf(state.rooms, state.floors ?? []) + bytesOfPacked(state.data);
      this.post({ type: 'live', session: state, floor, floorAt });
    } else {
      const { packed, ...change } = this.changeOf(session, changes);
      bytes += bytesOf(change.left, change.joined) + bytesOfPacked(packed);
      this.post({ type: 'changed', pid: session.pid, change });
    }
    session.isStale = false;
    if (session.held) this.markStale(session);
    const now = machineTime();
    this.window.consume(bytes, now);
    if (told === 'nothing') return;
    session.costs ??= new Allowance(SESSION_RATE, now);
    session.costs.owe(bytes, now);
  }

  private changeOf(
    session: LiveSession,
    changes: ReadonlyMap<string, Floor | undefined>,
  ): SessionChange & { readonly packed: unknown } {
    const left: string[] = [];
    const joined = new Map<Floor, string[]>();
    for (const [room, floor] of changes) {
      if (!floor) left.push(room);
      else if (joined.has(floor)) joined.get(floor)!.push(room);
      else joined.set(floor, [room]);
    }
    const { data } = session.socket;
    const packed = this.packer.pack(data);
    const isKnown = session.data === digestOf(packed);
    session.data = digestOf(packed);
    const described = { user: this.userOf(data), ...(isKnown ? {} : { data: packed }) };
    return { left, joined: [...joined].map(([floor, rooms]) => ({ ...floor, rooms })), ...described, packed };
  }

  private stateOf(session: LiveSession): SessionState {
    const { socket, pid, resumedFrom, named, handedOver, aliveAt, floors } = session;
    const { alsoReceived, replayed, isShared, address, connection } = session;
    const state: SessionState = {
      pid,
      sid: socket.id,
      rooms: [],
      data: undefined,
      worker: NO_WORKER,
      resumedFrom: undefined,
      named: undefined,
      handedOver: undefined,
      aliveAt,
      floors: undefined,
      alsoReceived,
      replayed,
      isShared,
      user: this.userOf(socket.data),
      address,
      connection,
    };
    // Only so much is kept that the client can be told apart from an unknown one.
    if (session.told === 'too many rooms') return state;
    const { worker } = this;
    const rooms = Array.from(socket.rooms, nameOf);
    const data = this.packer.pack(socket.data);
    session.data = digestOf(data);
    return Object.assign(state, { rooms, data, worker, resumedFrom, named, handedOver, floors: floors?.state() });
  }
}

/** What tells packed data from other data. */
function digestOf(packed: unknown): unknown {
  const isLong = typeof packed === 'string' && packed.length > MAX_REMEMBERED;
  return isLong ? createHash('sha1').update(packed, 'latin1').digest('base64') : packed;
}

function bytesOfPacked(packed: unknown): number {
  return typeof packed === 'string' ? packed.length : 0;
}

function bytesOf(rooms: readonly string[], floors: readonly RoomsFloor[]): number {
  let bytes = 0;
  for (const room of rooms) bytes += OVERHEAD_BYTES + room.length;
  for (const { numbers, rooms: joined = [] } of floors) bytes += numbers.length + bytesOf(joined, []);
  return bytes;
}
