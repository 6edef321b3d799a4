import { setImmediate } from 'node:timers/promises';
import type { TopKeys } from '../../../engine/top-keys.js';
import type { Presence } from '../../../features/presence/index.js';
import type { ApplicationView } from '../../../host/index.js';
import { askServers, type Namespace } from '../../../index.js';
import { chatRoomOf, ioRoomOf } from '../context.js';
import type { PlainMembers } from '../plain/members.js';
import type { ChatServer } from '../protocol.js';

/** A worker's own counts. */
export interface WorkerTotals {
  /** Connected clients, in rooms or not. */
  clients: number;
  /** Messages posted on this worker since its start. */
  messages: number;
}

/** Statistics over all workers and machines. */
export interface ChatStats {
  /** Of the workers that have answered within 5 s. */
  totals: WorkerTotals & { workers: number; rooms: number };
  /** The {@link MAX_ROOMS_LISTED} rooms with the most members, the largest first. */
  rooms: { room: string; members: number }[];
}

/** How many rooms are listed at most. */
export const MAX_ROOMS_LISTED = 1000;
/** The event between workers. */
const EVENT = 'chat:totals';
/** How many rooms are counted in one turn of the event loop, which takes some milliseconds. */
const ROOMS_IN_A_TURN = 2000;

/** Lets the other workers ask for the counts of this one. */
export function answerTotals(io: ChatServer, own: () => WorkerTotals): void {
  // Other programs may publish on the backplane, too.
  const answer = (_question: unknown, reply: unknown) => typeof reply === 'function' && reply(own());
  io.on(EVENT as never, answer as never);
}

/** Counts the rooms and their members, which all workers know, and asks the others for the rest. */
export async function chatStatsOf(io: ChatServer, presence: Presence<string>, own: WorkerTotals): Promise<ChatStats> {
  const { answers } = await askServers(io.of('/') as unknown as Namespace, EVENT, null, areTotals);
  const totals = { ...own, workers: answers.length + 1 };
  for (const { clients, messages } of answers) {
    totals.clients += clients;
    totals.messages += messages;
  }
  const all = [...presence.rooms()].flatMap((ioRoom) => chatRoomOf(ioRoom) ?? []);
  const rooms: ChatStats['rooms'] = [];
  for (const [index, room] of all.entries()) {
    if (index % ROOMS_IN_A_TURN === ROOMS_IN_A_TURN - 1) await setImmediate();
    rooms.push({ room, members: presence.usersOf(ioRoomOf(room)).members });
  }
  rooms.sort((one, other) => other.members - one.members || (one.room < other.room ? -1 : 1));
  return { totals: { ...totals, rooms: all.length }, rooms: rooms.slice(0, MAX_ROOMS_LISTED) };
}

function areTotals(value: unknown): value is WorkerTotals {
  const { clients, messages } = (value ?? {}) as Partial<WorkerTotals>;
  return Number.isSafeInteger(clients) && Number.isSafeInteger(messages);
}

/** The namespace of the chat. */
const NAMESPACE = '/';

/** The rooms and users of the chat, as the operator sees them. */
export function applicationViewOf(plainMembers: PlainMembers, users: TopKeys): ApplicationView {
  const nameOf: ApplicationView['nameOf'] = (namespace, room) =>
    namespace === NAMESPACE ? chatRoomOf(room) : undefined;
  return {
    nameOf,
    // The adapter counts all plain members of this worker as one.
    moreMembersOf: (namespace, room) => Math.max(0, plainMembers.in(nameOf(namespace, room) ?? '') - 1),
    users,
  };
}
