import { machineTime } from '../../../base/clock.js';
import { nameOf } from '../../../base/names.js';
import type {
  AwayState,
  ExpiredSession,
  NamespaceOptions,
  SessionChange,
  SessionState,
  ToKeeper,
} from '../messages.js';
import { decodeOffset } from '../offset.js';
import { Floors, Removals, type RemovalTarget } from './memory.js';
import { Packets } from './packets.js';
import { type KeptSession, NO_WORKER, type SessionMemory, Sessions } from './sessions.js';
import { type PacketMemory, Stream } from './stream.js';

/** What was sent to a client alone so long before it was handed over, in ms, has arrived. */
const HANDED_OVER_MS = 10_000;

/** A worker of this machine, as the keeper knows it. */
interface Worker {
  /** Names it in offsets. */
  readonly name: string;
  isListening: boolean;
  /** Whether its bus is. */
  isUp: boolean;
}

/** A connected session, and what its worker has sent to it alone. */
interface Live {
  session: SessionState;
  /** Its rooms and floors, once they have changed. */
  rooms: Set<string> | undefined;
  floors: Floors | undefined;
  /** Whether it cannot be recovered: it has changes that its worker has not told, or the operator has ended it. */
  isLost: boolean;
  /** Since when its worker has told of it. */
  readonly since: number;
  readonly worker: number;
  readonly direct: Stream;
}

/** A session that a worker recovers. */
interface Recovering {
  readonly session: KeptSession;
  readonly worker: number;
  /** Called when the client is connected, or gets a new session. */
  end?: () => void;
}

/** What a namespace needs of its keeper. */
interface Host {
  readonly packets: PacketMemory;
  readonly sessions: SessionMemory;
  expired(worker: number, session: ExpiredSession): void;
  ended(workers: Iterable<number>, sender: string, last: number): void;
  /** Whether another keeper has the packets of a worker. */
  isElsewhere(sender: string): boolean;
}

/** What is kept of one namespace: the broadcasts of this machine's workers, and their sessions. */
export class KeptNamespace {
  readonly workers = new Map<number, Worker>();
  readonly packets: Packets;
  readonly away: Sessions;
  private readonly live = new Map<string, Live>();
  /** Sessions that a worker recovers at present. If it is gone before it has told the result, they are kept again. */
  private readonly recovering = new Map<string, Recovering>();
  private readonly removals = new Removals();

  constructor(
    public options: NamespaceOptions,
    private readonly host: Host,
  ) {
    this.packets = new Packets(host.packets, () => this.options, host.isElsewhere);
    this.away = new Sessions(host.sessions, () => this.options, this.expired);
  }

  /** One worker that listens is told of a session whose client has not returned, or cannot be recovered. */
  private readonly expired = ({ sid: id, rooms, data }: KeptSession): void => {
    const listening = [...this.workers].filter(([, { isListening }]) => isListening).map(([worker]) => worker);
    if (listening.length === 0) return;
    this.host.expired(Math.min(...listening), { id, rooms: rooms.filter((room) => room !== id), data });
  };

  /** How long packets are kept: a client may have received nothing for a while before it counts as gone. */
  get retentionMs(): number {
    const { durationMs, silenceMs, slackMs } = this.options;
    return durationMs + silenceMs + slackMs;
  }

  open(number: number, { name, sent, isAgain }: Extract<ToKeeper, { type: 'open' }>): void {
    this.workers.set(number, { name, isListening: false, isUp: true });
    this.packets.begin(name, sent);
    if (isAgain) this.packets.loseBefore();
  }

  connected(worker: number, session: SessionState, floor: number, floorAt: number): void {
    const { pid } = session;
    const known = this.live.get(pid);
    const told = { session, rooms: undefined, floors: undefined, isLost: false };
    if (known?.worker === worker) {
      if (floor > 0) known.direct.cut(floor, floorAt);
      return void Object.assign(known, told);
    }
    known?.direct.release();
    const taken = this.endRecovering(pid)?.direct;
    const direct = session.handedOver === undefined ? new Stream(this.host.packets) : this.handedOver(session, taken);
    taken?.release();
    if (floor > 0) direct.cut(floor, floorAt);
    this.live.set(pid, { ...told, since: machineTime(), worker, direct });
    this.away.drop(pid);
    this.away.changed(pid);
  }

  /** What its former worker has sent to a client may be on its way still, or wait in the new one, which may be killed. */
  private handedOver({ resumedFrom }: SessionState, taken: Stream | undefined): Stream {
    const since = machineTime() - HANDED_OVER_MS;
    if (taken) return taken.handedOver(decodeOffset(resumedFrom!)!.direct, since);
    return Stream.of({ floor: 0, floorAt: machineTime(), last: 0, lagMs: 0, packets: [] }, this.host.packets);
  }

  changed(worker: number, pid: string, { left, joined, ...described }: SessionChange): void {
    const live = this.live.get(pid);
    if (live?.worker !== worker) return;
    const { session } = live;
    live.session = { ...session, ...described };
    live.isLost = false;
    live.rooms ??= new Set(session.rooms);
    live.floors ??= Floors.of(session.floors);
    for (const room of left) {
      live.rooms.delete(room);
      live.floors.leave(room);
    }
    for (const { rooms = [], ...floor } of joined) {
      for (const room of rooms) {
        live.rooms.add(room);
        live.floors.join(room, floor);
      }
    }
  }

  stale(worker: number, pids: readonly string[]): void {
    for (const pid of pids) {
      const live = this.live.get(pid);
      if (live?.worker === worker) live.isLost = true;
    }
  }

  sentTo(worker: number, { pid, number, at, packets }: Extract<ToKeeper, { type: 'direct' }>): void {
    const live = this.live.get(pid);
    if (live?.worker === worker)
      live.direct.add({ number, at, rooms: [nameOf(live.session.sid)], except: [], packets });
  }

  shared(worker: number, pid: string): void {
    const live = this.live.get(pid);
    if (live?.worker === worker) live.session = { ...live.session, isShared: true };
  }

  gone(worker: number, pid: string): void {
    this.endLive(worker, pid)?.direct.release();
  }

  /** The client of a session is disconnected, and may return. */
  disconnected(worker: number, pid: string): void {
    const taken = this.recovering.get(pid);
    // It was found, but its client has left before it was connected.
    if (taken?.worker === worker) return this.keep(this.endRecovering(pid)!);
    const live = this.endLive(worker, pid);
    if (!live) return;
    const session = stateOf(live);
    // A client that counts as gone now was certainly still there then, unless it has been connected for a shorter time.
    const latest = machineTime() - this.options.silenceMs;
    const aliveAt = live.since <= latest ? Math.max(session.aliveAt, latest) : session.aliveAt;
    let { direct } = live;
    if (session.worker === NO_WORKER) {
      direct.release();
      direct = new Stream(this.host.packets);
    }
    this.keep({ ...session, aliveAt, disconnectedAt: machineTime(), direct }, live.isLost);
  }

  private endLive(worker: number, pid: string): Live | undefined {
    const live = this.live.get(pid);
    if (live?.worker !== worker) return undefined;
    this.live.delete(pid);
    return live;
  }

  private keep(session: KeptSession, isLost = false): void {
    if (isLost || this.removals.covers(session)) this.end(session);
    else this.away.put(session);
  }

  private end(session: KeptSession): void {
    session.direct.release();
    this.expired(session);
  }

  /** Another keeper has given a session. */
  adopt({ session, awayMs, direct }: AwayState): KeptSession {
    const disconnectedAt = machineTime() - awayMs;
    return { ...session, disconnectedAt, direct: Stream.of(direct, this.host.packets) };
  }

  adoptAway(state: AwayState): void {
    if (!this.live.has(state.session.pid)) this.keep(this.adopt(state));
  }

  /** The worker that serves a session; undefined if it is not connected here. */
  workerOf(pid: string): number | undefined {
    return this.live.get(pid)?.worker ?? this.recovering.get(pid)?.worker;
  }

  /** Another keeper takes a session. */
  give(pid: string): AwayState | undefined {
    const kept = this.away.take(pid);
    if (!kept) return undefined;
    const { direct, disconnectedAt, ...session } = kept;
    const awayMs = machineTime() - disconnectedAt;
    const state = { session, awayMs, direct: direct.state };
    direct.release();
    return state;
  }

  /** A worker begins to recover a session. */
  take(pid: string, worker: number, session = this.away.take(pid)): KeptSession | undefined {
    if (!session) return undefined;
    if (this.removals.covers(session)) return void this.end(session);
    this.recovering.set(pid, { session, worker });
    return session;
  }

  /** Calls back when the worker has done with the session, at once if it has already. @returns false then */
  onReturned(pid: string, worker: number, end: () => void): boolean {
    const taken = this.recovering.get(pid);
    const isTaken = taken?.worker === worker;
    if (isTaken) taken.end = end;
    else end();
    return isTaken;
  }

  /**
   * The client of a session that was taken gets a new one.
   * @param taken what was taken, if only that is meant
   * @param isKept whether the session stays instead: the client was about to move, and returns by itself
   */
  failed(pid: string, worker: number, { taken, isKept }: { taken?: KeptSession; isKept?: boolean } = {}): void {
    const recovering = this.recovering.get(pid);
    if (recovering?.worker !== worker || (taken && recovering.session !== taken)) return;
    const session = this.endRecovering(pid)!;
    if (isKept) this.keep(session);
    else this.end(session);
  }

  private endRecovering(pid: string): KeptSession | undefined {
    const taken = this.recovering.get(pid);
    this.recovering.delete(pid);
    taken?.end?.();
    return taken?.session;
  }

  /** @returns the ids of the sockets that were disconnected */
  remove(target: RemovalTarget): string[] {
    const matches = this.removals.add(target);
    // Their workers disconnect the sockets that are connected, or take them out of the room. They may be killed meanwhile.
    for (const live of this.live.values()) {
      if (!('room' in target)) {
        live.isLost ||= matches(live.session);
      } else if (target.room !== live.session.sid) {
        live.rooms ??= new Set(live.session.rooms);
        live.rooms.delete(target.room);
      }
    }
    return this.away.removeWhere(matches);
  }

  listen(number: number, isListening: boolean): void {
    const worker = this.workers.get(number);
    if (worker) worker.isListening = isListening;
  }

  /** A worker is gone, or has closed the namespace. Nothing has told it that its clients are. */
  left(number: number): void {
    const worker = this.workers.get(number);
    if (!worker) return;
    worker.isListening = false;
    for (const [pid, { worker: of }] of [...this.live]) if (of === number) this.disconnected(number, pid);
    for (const [pid, one] of this.recovering) if (one.worker === number) this.keep(this.endRecovering(pid)!);
    this.workers.delete(number);
    // It may have been killed before all others had what it has sent last.
    const last = this.packets.end(worker.name);
    this.host.ended(this.workers.keys(), worker.name, last);
  }

  sweep(): void {
    this.away.sweep();
    this.removals.sweep(machineTime() - this.options.durationMs);
    this.packets.sweep(machineTime() - this.retentionMs);
  }

  /** What another keeper goes on with. */
  *giveAll(): Iterable<AwayState> {
    for (const { pid } of [...this.away.all()]) {
      const state = this.give(pid);
      if (state) yield state;
    }
  }

  close(): void {
    for (const { direct } of this.live.values()) direct.release();
    this.away.close();
    this.packets.close();
  }
}

/** A connected session with its changes. */
function stateOf({ session, rooms, floors }: Live): SessionState {
  return { ...session, ...(rooms && { rooms: [...rooms] }), ...(floors && { floors: floors.state() }) };
}
