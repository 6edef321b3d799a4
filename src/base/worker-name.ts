/** The name of a worker among several machines: its number and the id of its machine. */
export const workerName = (worker: number, machine: string): string => `${worker}.${machine}`;

/** What {@link workerName} returns. Session ids begin with it. */
export const WORKER_NAME = /^\d{1,9}\.[A-Za-z0-9_-]{8}/;

/**
 * The ids of sessions, and of sockets where there are several workers, begin with the name of their worker, which no other
 * worker has later. Behind a dot, 20 random characters follow. A machine without others is not named.
 */
export const idPrefixOf = (worker: string | number): string => `${worker}.`;

const RANDOM_LENGTH = 20;
const DOT = '.'.charCodeAt(0);

/** The worker that an id, or a room of that name, names; undefined if it names none. There need not be such a worker. */
export function workerIn(id: string): string | undefined {
  const end = id.length - RANDOM_LENGTH - 1;
  return end > 0 && id.charCodeAt(end) === DOT ? id.slice(0, end) : undefined;
}

/**
 * Whether a message to these rooms is for an id. It goes to the workers where the socket may be, and to no others, also if recovery
 * numbers it.
 */
export const isToId = (rooms: readonly string[]): boolean => rooms.length === 1 && workerIn(rooms[0]!) !== undefined;
