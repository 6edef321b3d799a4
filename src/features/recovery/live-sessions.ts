import type { Socket } from 'socket.io';
import type { SocketId } from 'socket.io-adapter';
import { pidOf } from '../../io/socket-io.private.js';
import { type Floor, Floors } from './kept/memory.js';
import { type KeptPacket, type PacketMemory, Stream } from './kept/stream.js';
import type { CopiedState, RecoveryMessage } from './messages.js';

/** A connected socket, and what it was sent alone. */
export interface LiveSession {
  readonly socket: Socket;
  readonly pid: string;
  readonly resumedFrom: string | undefined;
  readonly recoveries: number | undefined;
  /** The client has received everything that it was sent before this time. */
  readonly aliveAt: number;
  readonly address: string | undefined;
  readonly connection: string;
  /** The only room of a packet that is sent to it alone. */
  readonly ownRoom: readonly [SocketId];
  direct: Stream | undefined;
  /** Undefined once all packets are newer. */
  floors: Floors | undefined;
  /** What the client had received when it connected and this worker had not: numbers as in an offset. */
  readonly has: string | undefined;
}

type Changes = Omit<Extract<RecoveryMessage, { type: 'live' }>, 'nsp' | 'worker' | 'type'>;

/** A packet to one socket, as its worker sends it to the buddy. */
type DirectPacket = Changes['direct'][number];

/** How long changes wait for further ones, in ms. If the worker is killed in that time, they are lost. */
const WINDOW_MS = 10;

/**
 * The connected sockets of this worker in one namespace. One other worker, the *buddy*, keeps a copy of them. It gets the
 * changes of a short window at a time, and always before this worker tells others anything.
 */
export class LiveSessions {
  private readonly byPid = new Map<string, LiveSession>();
  private readonly bySid = new Map<string, LiveSession>();
  /** Those with floors. */
  private readonly young = new Set<LiveSession>();
  private changed = new Set<LiveSession>();
  private direct: DirectPacket[] = [];
  private gone: string[] = [];
  private timer: NodeJS.Timeout | undefined;
  private toldBuddy: number | undefined;

  /**
   * @param send sends changes to the buddy
   * @param buddy the id of the buddy; undefined without other workers
   */
  constructor(
    private readonly memory: PacketMemory,
    private readonly buddy: () => number | undefined,
    private readonly send: (buddy: number, changes: Changes) => void,
  ) {}

  get(pid: string): LiveSession | undefined {
    return this.byPid.get(pid);
  }

  of(sid: string): LiveSession | undefined {
    return this.bySid.get(sid);
  }

  add(
    socket: Socket,
    state: Pick<LiveSession, 'resumedFrom' | 'recoveries' | 'aliveAt' | 'floors' | 'has'>,
  ): LiveSession {
    const { id: connection, remoteAddress: address } = socket.conn as unknown as { id: string; remoteAddress: string };
    const session: LiveSession = {
      ...{ ...state, socket, pid: pidOf(socket), connection, address },
      ...{ ownRoom: [socket.id], direct: undefined },
    };
    this.byPid.set(session.pid, session);
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

  /** Forgets the floors of before a time. */
  sweep(oldest: number): void {
    for (const session of this.young) {
      if (session.floors?.dropBefore(oldest)) continue;
      session.floors = undefined;
      this.young.delete(session);
    }
  }

  /** Keeps a packet that is sent to this socket alone. */
  keep(session: LiveSession, { number, at, packets }: Pick<KeptPacket, 'number' | 'at' | 'packets'>): void {
    session.direct ??= new Stream(this.memory);
    session.direct.add({ number, at, rooms: session.ownRoom, except: NONE, packets });
    if (this.buddy() === undefined) return;
    this.direct.push([session.pid, number, at, packets]);
    this.plan();
  }

  remove(session: LiveSession): void {
    this.byPid.delete(session.pid);
    this.bySid.delete(session.socket.id);
    this.changed.delete(session);
    this.young.delete(session);
    this.gone.push(session.pid);
    this.plan();
  }

  /** Sends the changes to the buddy now; to a new buddy, everything. */
  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const buddy = this.buddy();
    const { changed, direct, gone, toldBuddy } = this;
    this.changed = new Set();
    this.direct = [];
    this.gone = [];
    if (buddy === undefined) {
      this.toldBuddy = undefined;
      return;
    }
    if (buddy === toldBuddy) {
      if (changed.size + direct.length + gone.length === 0) return;
      return this.send(buddy, { isFirst: false, sessions: [...changed].map(stateOf), direct, gone });
    }
    this.toldBuddy = buddy;
    const all = [...this.byPid.values()];
    const packets = all.flatMap(({ pid, direct: kept }) =>
      (kept?.kept ?? []).map((one): DirectPacket => [pid, one.number, one.at, one.packets]),
    );
    this.send(buddy, { isFirst: true, sessions: all.map(stateOf), direct: packets, gone: [] });
    // If it is still there, its copies would get out of date.
    if (toldBuddy !== undefined) this.send(toldBuddy, { isFirst: true, sessions: [], direct: [], gone: [] });
  }

  /** Another worker has begun to keep copies. If it is the buddy, it lacks what it was sent before. */
  tellAgain(worker: number): void {
    if (this.toldBuddy === worker) this.toldBuddy = undefined;
    this.plan();
  }

  /** Call it when workers have come or gone. */
  plan(): void {
    this.timer ??= setTimeout(() => this.flush(), WINDOW_MS);
  }

  /** Sends what waits, before this worker tells others something that may follow from it. */
  flushFirst(): void {
    if (this.timer) this.flush();
  }

  close(): void {
    clearTimeout(this.timer);
    for (const { direct } of this.byPid.values()) direct?.release();
    this.byPid.clear();
    this.bySid.clear();
    this.young.clear();
  }
}

const NONE: readonly string[] = [];

function stateOf({ socket, direct, ownRoom: _, floors, ...session }: LiveSession): CopiedState {
  const { floor = 0, floorAt = 0 } = direct ?? {};
  const { id: sid, rooms, data } = socket;
  const state = { ...session, sid, rooms: [...rooms], data, floor, floorAt };
  return floors ? { ...state, floors: floors.state() } : state;
}
