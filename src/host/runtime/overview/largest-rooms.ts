import { setImmediate } from 'node:timers/promises';
import { sizeOf } from '../../../io/rooms/index.js';
import { privateParts } from '../../../io/socket-io-server.private.js';
import type { MachineWorker } from '../machine-worker.js';

/** A room and its members on this worker. */
export interface RoomSize {
  readonly namespace: string;
  readonly room: string;
  readonly members: number;
}

/** How many rooms are kept. */
const MAX_KEPT = 20;
/** Names that are longer are left out. */
const MAX_NAME = 256;
/** How many rooms are looked at in one turn of the event loop, which takes less than a millisecond. */
const ROOMS_IN_A_TURN = 2000;
/** Shortest pause between two looks, in ms. */
const MIN_PAUSE_MS = 1000;
/** The pause lasts at least 200 times as long as the look, so looking takes at most half a percent of a core. */
const PAUSE_FACTOR = 200;

/** Finds the rooms with the most members, by looking at all of them from time to time while the operator watches. */
export class LargestRooms {
  /** The rooms of the latest look, the largest one first, and the number of all rooms. */
  latest: { readonly rooms: readonly RoomSize[]; readonly count: number } = { rooms: [], count: 0 };
  private looking: Promise<void> | undefined;
  private isFirst = true;

  constructor(private readonly worker: Pick<MachineWorker, 'servers' | 'view'>) {}

  /** Looks at the rooms again, unless the last look is too recent. Resolves once the first look has ended. */
  async refresh(): Promise<void> {
    this.looking ??= this.look();
    if (this.isFirst) await this.looking;
  }

  private async look(): Promise<void> {
    let spent = 0;
    let since = performance.now();
    let seen = 0;
    let count = 0;
    const largest: RoomSize[] = [];
    for (const room of this.all()) {
      seen++;
      if (room) {
        count++;
        keepLargest(largest, room);
      }
      if (seen % ROOMS_IN_A_TURN !== 0) continue;
      spent += performance.now() - since;
      await setImmediate();
      since = performance.now();
    }
    spent += performance.now() - since;
    this.latest = { rooms: largest, count };
    this.isFirst = false;
    const forget = () => {
      this.looking = undefined;
    };
    setTimeout(forget, Math.max(MIN_PAUSE_MS, spent * PAUSE_FACTOR)).unref();
  }

  /** All rooms; undefined for one that is not the users'. */
  private *all(): Iterable<RoomSize | undefined> {
    const { servers, view } = this.worker;
    for (const server of servers) {
      for (const [namespace, { adapter }] of privateParts(server)._nsps) {
        for (const room of adapter.rooms.keys()) {
          // Each socket has a room of its own. An application may pass on what a client sends as a room, which can be anything.
          const isShown =
            typeof room === 'string' &&
            !adapter.sids.has(room) &&
            room.length <= MAX_NAME &&
            view.nameOf(namespace, room) !== undefined;
          yield isShown
            ? { namespace, room, members: sizeOf(adapter.rooms, room) + (view.moreMembersOf?.(namespace, room) ?? 0) }
            : undefined;
        }
      }
    }
  }
}

function keepLargest(largest: RoomSize[], room: RoomSize): void {
  if (largest.length === MAX_KEPT && largest.at(-1)!.members >= room.members) return;
  const at = largest.findIndex(({ members }) => members < room.members);
  largest.splice(at === -1 ? largest.length : at, 0, room);
  if (largest.length > MAX_KEPT) largest.pop();
}
