import { type PacketMemory, Stream } from '../kept/stream.js';
import type { LiveState, RecoveryMessage } from '../messages.js';

type LiveMessage = Extract<RecoveryMessage, { type: 'live' }>;

/** A copy of a session that is connected to another worker. */
export interface Replica extends LiveState {
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
