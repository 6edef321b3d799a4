/**
 * Connection state recovery over all workers: a client that lost its connection for a moment gets its id, its rooms, its data and
 * the packets that it missed, on whichever worker it returns to.
 *
 * It promises: a client that is recovered has missed nothing and gets nothing twice; otherwise it gets a new session. What
 * it keeps, and what a client may make it do, has bounds. Without the option, none of it is in the path of a message.
 * docs/internals/recovery.md explains the protocol.
 *
 *   recovery.ts, namespace-recovery.ts  the parts wired, for a server and for each of its namespaces
 *   broadcasting.ts, broadcast-numbers.ts what the adapter does with each broadcast: number it, and have it kept
 *   version-vector.ts, offset.ts        who has received what; the same of a client, as it says it
 *   live-sessions.ts, session-expiry.ts the sockets that are connected, and the ends of their sessions
 *   returns/                            clients that return, one after the other
 *   moves.ts                            clients that go on on another worker, or come from one
 *   link.ts, messages.ts                the worker's end of the link to the keeper, and what they tell each other
 *   keeper/                             what is kept, once for each machine; hub-service.ts puts it into the hub
 *
 * It may call the rooms, and what they may call. It reaches other workers only through the keeper.
 */
export type { RemovalTarget } from './keeper/memory.js';
export type { ExpiredSession, RecoveryState } from './messages.js';
export { departing, expectArrival, forgetArrival } from './moves.js';
export { outcomes } from './offset.js';
export { depart, openRecovery, prepareArrival, type Recovery, type RecoveryOptions } from './recovery.js';
export { watchExpiries } from './session-expiry.js';
