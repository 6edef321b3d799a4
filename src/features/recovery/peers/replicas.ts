import { MAX_SKEW_MS } from '../kept/packet-log.js';
import type { KeptSession } from '../kept/sessions.js';
import { type PacketMemory, Stream, type StreamState } from '../kept/stream.js';
import type { LiveState, RecoveryMessage, SessionState } from '../messages.js';
import type { Owner } from './loans.js';

/** A kept session as it is sent to another worker. */
export function sessionState({ direct, ...state }: KeptSession): SessionState {
  const { floor, floorAt, last, lastAt, kept } = direct;
  return { ...state, direct: { floor, floorAt, last, lastAt, packets: kept } };
}

/** A session that another worker has sent. */
export function sessionOf({ direct, ...state }: SessionState, memory: PacketMemory): KeptSession {
  const stream = new Stream(memory);
  stream.prepend(direct.packets, direct.floor, direct.floorAt);
  return { ...state, direct: stream };
}

interface Request {
  /** The workers that have not answered. */
  readonly missing: Set<number>;
  readonly onNone: (() => void) | undefined;
}

/** Numbered questions to the other workers of this machine whether they have a session. */
export class Requests {
  private readonly open = new Map<number, Request>();
  private last = 0;

  /** @param maxWaitMs how long answers are waited for */
  constructor(private readonly maxWaitMs: number) {}

  /**
   * @param onNone called when all of them have answered that they do not have it
   * @returns the number of the question
   */
  start(workers: readonly number[], onNone: (() => void) | undefined): number {
    const request = ++this.last;
    if (workers.length > 0) {
      this.open.set(request, { missing: new Set(workers), onNone });
      setTimeout(() => this.open.delete(request), this.maxWaitMs).unref();
    }
    return request;
  }

  /** The worker does not have the session. One that has it sends it. */
  answered(worker: number, request: number): void {
    const { missing, onNone } = this.open.get(request) ?? {};
    missing?.delete(worker);
    if (missing?.size !== 0) return;
    this.open.delete(request);
    onNone?.();
  }

  /** A worker that is gone has nothing. */
  leave(worker: number): void {
    for (const request of [...this.open.keys()]) this.answered(worker, request);
  }
}

/**
 * Adds what another worker knows of each sender to the log of one that has just started. The parts of a sender come one
 * after the other, the newest first.
 *
 * What may be on its way to this worker, too, is also delivered: its clients, which may have connected before it was sent,
 * would miss it if it only counted as known. When it arrives, it is known.
 */
export class Lessons {
  /** The newest packets of a sender. Older ones, which are to be delivered first, follow. */
  private held: StreamState | undefined;
  /** What was sent since then may be on its way. */
  private readonly newSince: number;

  /** @param startedAt since when this worker receives what others send */
  constructor(
    private readonly owner: Pick<Owner, 'log' | 'deliver'>,
    startedAt: number,
    spansMachines: boolean,
  ) {
    this.newSince = spansMachines ? startedAt - MAX_SKEW_MS : startedAt;
  }

  add(part: StreamState): void {
    const { held } = this;
    if (held?.sender === part.sender && held.floor === part.last) {
      this.held = { ...part, last: held.last, lastAt: held.lastAt, packets: [...part.packets, ...held.packets] };
    } else {
      this.settle();
      this.held = part;
    }
    const { sender, floor, packets } = this.held;
    const isPartOfNew = floor > this.owner.log.headOf(sender).last && packets[0] && this.isNew(packets[0].at);
    if (!isPartOfNew) this.settle();
  }

  /** No more parts come of the sender. */
  settle(): void {
    const { held } = this;
    if (!held) return;
    this.held = undefined;
    this.owner.log.learn(held, (at) => this.isNew(at));
    for (const packet of held.packets) this.owner.deliver(held.sender, packet);
  }

  private isNew(at: number): boolean {
    return at >= this.newSince;
  }
}

type LiveMessage = Extract<RecoveryMessage, { type: 'live' }>;

/** A copy of a session that is connected to another worker. */
interface Replica extends LiveState {
  readonly worker: string;
  readonly direct: Stream;
}

/** Copies of the connected sessions of other workers, for the case that these are killed. */
export class Replicas {
  /** By the id of the other worker, and by the session. */
  private readonly workers = new Map<number, Map<string, Replica>>();

  constructor(private readonly memory: PacketMemory) {}

  apply(from: number, { worker, isFirst, sessions, direct, gone }: LiveMessage): void {
    if (isFirst) for (const replica of this.takeAll(from)) replica.direct.release();
    const copies = this.workers.get(from) ?? new Map<string, Replica>();
    this.workers.set(from, copies);
    for (const state of sessions) {
      const stream = copies.get(state.pid)?.direct ?? new Stream(this.memory);
      stream.cut(state.floor, state.floorAt);
      copies.set(state.pid, { ...state, worker, direct: stream });
    }
    for (const [pid, number, at, packets] of direct) {
      const copy = copies.get(pid);
      copy?.direct.add({ number, at, rooms: [copy.sid], except: [], packets });
    }
    for (const pid of gone) {
      copies.get(pid)?.direct.release();
      copies.delete(pid);
    }
  }

  has(pid: string): boolean {
    for (const copies of this.workers.values()) if (copies.has(pid)) return true;
    return false;
  }

  drop(pid: string): void {
    for (const copies of this.workers.values()) {
      copies.get(pid)?.direct.release();
      copies.delete(pid);
    }
  }

  /** Removes the copies for which this is true. */
  removeWhere(matches: (copy: Replica) => boolean): void {
    for (const copies of this.workers.values()) {
      for (const copy of [...copies.values()].filter(matches)) {
        copy.direct.release();
        copies.delete(copy.pid);
      }
    }
  }

  /** Takes all sockets out of a room. They stay connected. */
  closeRoom(room: string): void {
    for (const copies of this.workers.values()) {
      for (const [pid, copy] of copies) {
        const rooms = copy.rooms.filter((one) => String(one) !== room);
        if (rooms.length < copy.rooms.length) copies.set(pid, { ...copy, rooms });
      }
    }
  }

  /** Removes the copies of a worker's sessions, and returns them. */
  takeAll(from: number): Replica[] {
    const copies = [...(this.workers.get(from)?.values() ?? [])];
    this.workers.delete(from);
    return copies;
  }

  close(): void {
    for (const worker of [...this.workers.keys()]) for (const { direct } of this.takeAll(worker)) direct.release();
  }
}
