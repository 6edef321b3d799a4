/**
 * gjallar over NATS: `npm install gjallar-nats` lets a server use `BUS=nats`. It implements the seam of `gjallar/pub-sub`.
 *
 *   address.ts   NATS_URL, and the subjects of channels
 *   dial.ts      a connection to one of the servers
 *   pub-sub.ts   a connection that is made again whenever it is lost; receipts.ts tells what has arrived, parts.ts splits long messages
 *   diagnose.ts  what `gjallar doctor` says
 *   emitter.ts   what `gjallar/emitter` publishes with
 */
export { diagnose } from './diagnose.js';
export { type NatsClient, natsConnection } from './emitter.js';
export { openPubSub } from './pub-sub.js';
