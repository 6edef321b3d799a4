import type { Socket } from 'socket.io';
import { pidOf } from '../../compat/socket-io.js';
import type { LiveState, RecoveryMessage } from './messages.js';
import { type KeptPacket, type PacketMemory, Stream } from './stream.js';

/** A connected socket, and what it was sent alone. */
export interface LiveSession {
  readonly socket: Socket;
  readonly pid: string;
  readonly resumedFrom: string | undefined;
  /** The client has received everything that it was sent before this time. */
  readonly aliveAt: number;
  direct: Stream | undefined;
}

type Changes = Omit<Extract<RecoveryMessage, { type: 'live' }>, 'nsp' | 'worker' | 'type'>;

/**
 * The connected sockets of this worker in one namespace. One other worker, the *buddy*, keeps a copy of them: what has
 * changed in a turn of the event loop is sent at its end.
 */
export class LiveSessions {
  private readonly byPid = new Map<string, LiveSession>();
  private readonly bySid = new Map<string, LiveSession>();
  private changed = new Set<LiveSession>();
  private direct: [string, KeptPacket][] = [];
  private gone: string[] = [];
  private isPlanned = false;

  /**
   * @param send sends changes to the buddy
   * @param buddy the id of the buddy; undefined without other workers
   */
  constructor(
    private readonly memory: PacketMemory,
    private readonly buddy: () => number | undefined,
    private readonly send: (buddy: number, changes: Changes) => void,
  ) {}

  private toldBuddy: number | undefined;

  get(pid: string): LiveSession | undefined {
    return this.byPid.get(pid);
  }

  of(sid: string): LiveSession | undefined {
    return this.bySid.get(sid);
  }

  add(socket: Socket, resumedFrom: string | undefined, aliveAt: number): LiveSession {
    const session = { socket, pid: pidOf(socket), resumedFrom, aliveAt, direct: undefined };
    this.byPid.set(session.pid, session);
    this.bySid.set(socket.id, session);
    this.note(session);
    return session;
  }

  /** Notes that rooms or data of a session have changed. */
  note(session: LiveSession): void {
    this.changed.add(session);
    this.plan();
  }

  /** Keeps a packet that is sent to this socket alone. */
  keep(session: LiveSession, packet: KeptPacket): void {
    session.direct ??= new Stream(this.memory);
    session.direct.add(packet);
    this.direct.push([session.pid, packet]);
    this.plan();
  }

  remove(session: LiveSession): void {
    this.byPid.delete(session.pid);
    this.bySid.delete(session.socket.id);
    this.changed.delete(session);
    this.gone.push(session.pid);
    this.plan();
  }

  /** Sends the changes to the buddy now; to a new buddy, everything. */
  flush(): void {
    this.isPlanned = false;
    const buddy = this.buddy();
    const { changed, direct, gone } = this;
    this.changed = new Set();
    this.direct = [];
    this.gone = [];
    if (buddy === undefined) {
      this.toldBuddy = undefined;
      return;
    }
    if (buddy === this.toldBuddy) {
      if (changed.size + direct.length + gone.length === 0) return;
      return this.send(buddy, { isFirst: false, sessions: [...changed].map(stateOf), direct, gone });
    }
    this.toldBuddy = buddy;
    const all = [...this.byPid.values()];
    const packets = all.flatMap((one) => (one.direct?.kept ?? []).map((packet) => [one.pid, packet] as never));
    this.send(buddy, { isFirst: true, sessions: all.map(stateOf), direct: packets, gone: [] });
  }

  /** Call it when workers have come or gone. */
  plan(): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    setImmediate(() => this.flush());
  }

  close(): void {
    for (const { direct } of this.byPid.values()) direct?.release();
    this.byPid.clear();
    this.bySid.clear();
  }
}

function stateOf({ socket, pid, resumedFrom, aliveAt }: LiveSession): LiveState {
  return { pid, sid: socket.id, rooms: [...socket.rooms], data: socket.data, resumedFrom, aliveAt };
}
