/**
 * What applications turn on.
 *
 * It promises: nothing here is loaded, or costs a message anything, before it is asked for. All workers and machines agree,
 * and what a client may make a part keep has bounds.
 *
 *   recovery/       connection state recovery: what a client missed while it was away, on whichever worker it returns
 *   state/          state rooms: the newest value of each key; a slow client skips what is old
 *   history/        messages that are kept: SQLite, Redis, the archive; durable rooms
 *   presence/       the users in rooms, over all workers
 *   requests.ts     answers what clients ask of the parts
 *   hub-link.ts     the link of a part to its service in the hub, or in this process
 *
 * Each folder has an index.ts of its own, which is its public part. They reach other workers through the services of a namespace
 * (io/rooms/services.ts) and through the hub (base/hub-service.ts).
 */
export type { HistoryStore } from './history/store.js';
export { createPresence } from './presence/index.js';
export { openRecovery } from './recovery/index.js';
export { createStateRoom } from './state/index.js';
