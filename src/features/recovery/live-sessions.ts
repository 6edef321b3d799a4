import type { Socket } from 'socket.io';
import type { SocketId } from 'socket.io-adapter';
import { pidOf } from '../../io/socket-io.private.js';
import { type Floor, Floors } from './keeper/memory.js';
import { NO_WORKER } from './keeper/sessions.js';
import type { KeptPacket } from './keeper/stream.js';
import type { Posted, SessionState } from './messages.js';

/** A connected socket, as far as the keeper does not know it from elsewhere. */
export interface LiveSession {
  readonly socket: Socket;
  readonly pid: string;
  readonly resumedFrom: string | undefined;
  /** The client has received everything that it was sent before this time. */
  readonly aliveAt: number;
  readonly address: string | undefined;
  readonly connection: string;
  /** Undefined once all packets are newer. */
  floors: Floors | undefined;
  /** What the client had received when it connected and this worker had not: numbers as in an offset. */
  readonly has: string | undefined;
  /** When it was connected, on the clock of `performance`. */
  readonly connectedAt: number;
  isTold: boolean;
  /** Of the packets to it alone, those up to this one are not kept. */
  floor: number;
  floorAt: number;
}

/** The connected sockets of this worker in one namespace. The keeper has a copy of each, and what it was sent alone. */
export class LiveSessions {
  private readonly byPid = new Map<string, LiveSession>();
  private readonly bySid = new Map<string, LiveSession>();
  /** Those with floors. */
  private readonly young = new Set<LiveSession>();
  private readonly changed = new Set<LiveSession>();

  /**
   * @param worker the name of this worker
   * @param maxRooms the rooms of a session that can be recovered: the names of more are not sent
   * @param userOf the user of a socket with this data
   * @param plan is called when there are changes to post
   */
  constructor(
    private readonly worker: string,
    private readonly maxRooms: number,
    private readonly userOf: (data: unknown) => string | undefined,
    private readonly post: (message: Posted) => void,
    private readonly plan: () => void,
  ) {}

  get(pid: string): LiveSession | undefined {
    return this.byPid.get(pid);
  }

  of(sid: SocketId): LiveSession | undefined {
    return this.bySid.get(sid);
  }

  add(socket: Socket, state: Pick<LiveSession, 'resumedFrom' | 'aliveAt' | 'floors' | 'has'>): LiveSession {
    const { id: connection, remoteAddress: address } = socket.conn as unknown as { id: string; remoteAddress: string };
    const pid = pidOf(socket);
    const connectedAt = performance.now();
    const session = { ...state, socket, pid, connection, address, connectedAt, isTold: false, floor: 0, floorAt: 0 };
    this.byPid.set(pid, session);
    this.bySid.set(socket.id, session);
    this.young.add(session);
    this.note(session);
    return session;
  }

  /** Notes that rooms or data of a session have changed. */
  note(session: LiveSession): void {
    this.changed.add(session);
    this.plan();
  }

  /** Notes that a session has joined a room, after this worker had received what `floor` says. */
  joined(session: LiveSession, room: string | number, floor: Floor): void {
    session.floors ??= new Floors(undefined);
    session.floors.join(room, floor);
    this.young.add(session);
  }

  /** A packet is sent to this socket alone. */
  sent(session: LiveSession, { number, at, packets }: Pick<KeptPacket, 'number' | 'at' | 'packets'>): void {
    if (!session.isTold) this.tell(session);
    this.post({ type: 'direct', pid: session.pid, number, at, packets });
  }

  /** The client is disconnected, and may return. */
  away(session: LiveSession, rooms: readonly string[]): void {
    if (!session.isTold) this.tell(session);
    this.post({ type: 'away', session: { ...this.stateOf(session), rooms } });
  }

  remove(session: LiveSession): void {
    this.byPid.delete(session.pid);
    this.bySid.delete(session.socket.id);
    this.changed.delete(session);
    this.young.delete(session);
    this.post({ type: 'gone', pid: session.pid });
  }

  /** Ends the connections of clients that were recovered since a time. They return again. */
  endRecovered(since: number): void {
    const recovered = [...this.byPid.values()].filter(
      (one) => one.resumedFrom !== undefined && one.connectedAt >= since,
    );
    for (const { socket } of recovered) socket.conn.close(true);
  }

  /** Posts what has changed since the last call. */
  postChanges(): void {
    for (const session of this.changed) this.tell(session);
    this.changed.clear();
  }

  /** A keeper that knows none of them is told of all. What they were sent alone before, it does not have. */
  introduce(direct: number): void {
    for (const session of this.byPid.values()) {
      if (session.isTold) Object.assign(session, { floor: direct, floorAt: Date.now() });
      this.tell(session);
    }
  }

  /** Forgets the floors of before a time. */
  sweep(oldest: number): void {
    for (const session of this.young) {
      if (session.floors?.dropBefore(oldest)) continue;
      session.floors = undefined;
      this.young.delete(session);
    }
  }

  private tell(session: LiveSession): void {
    this.changed.delete(session);
    session.isTold = true;
    const { floor, floorAt } = session;
    this.post({ type: 'live', session: this.stateOf(session), floor, floorAt });
  }

  private stateOf({ socket, pid, resumedFrom, aliveAt, floors, has, address, connection }: LiveSession): SessionState {
    const { id: sid, data } = socket;
    const isRecoverable = socket.rooms.size <= this.maxRooms;
    const rooms = isRecoverable ? ([...socket.rooms] as string[]) : [];
    const worker = isRecoverable ? this.worker : NO_WORKER;
    return {
      ...{ pid, sid, rooms, data, worker, resumedFrom, aliveAt },
      ...{ floors: floors?.state(), has, user: this.userOf(data), address, connection },
    };
  }
}
