import { setImmediate } from 'node:timers/promises';
import type { WorkerTotals } from '../../presence/messages.js';
import type { PresenceRegistry } from '../../presence/registry.js';

/** Statistics over all workers and machines. */
export interface ChatStats {
  totals: WorkerTotals & { workers: number; rooms: number };
  /** The rooms with the most members, the largest first. */
  rooms: { room: string; members: number }[];
}

/** How many rooms are counted in one turn of the event loop, which takes some milliseconds. */
const ROOMS_IN_A_TURN = 2000;

/** Counts the rooms and their members. The workers exchange this data anyway, so no other worker is asked. */
export async function readStats(roster: PresenceRegistry, limit: number): Promise<ChatStats> {
  const all = [...roster.rooms()];
  const rooms: ChatStats['rooms'] = [];
  for (const [index, room] of all.entries()) {
    if (index % ROOMS_IN_A_TURN === ROOMS_IN_A_TURN - 1) await setImmediate();
    rooms.push({ room, members: roster.usersOf(room).members });
  }
  rooms.sort((one, other) => other.members - one.members || (one.room < other.room ? -1 : 1));
  return { totals: { ...roster.totals(), rooms: all.length }, rooms: rooms.slice(0, limit) };
}
