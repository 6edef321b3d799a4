/**
 * Backplanes connect the adapters of several workers: on this machine, through Redis, or through NATS.
 *
 * It promises: local delivery never waits for another worker. Messages of one worker arrive at another one in their order
 * or, in an outage, not at all; then the operator hears of it once. What waits for a server has a bound.
 *
 *   backplane.ts             the contract
 *   registry.ts              the choice by the options, and how each is loaded
 *   bus-health.ts, connection-health.ts, broker-cause.ts  whether a server is up, and why it is not; malformed messages
 *   frames/                  the bus of all but `redis`: one frame for each window and destination
 *   channels.ts, pub-sub.ts, redis/pub-sub.ts  what hubs carry the frames over; that of NATS is the package in `nats/`
 *   redis/                   the wire of the stock adapter; connections to Redis and Redis Cluster
 *
 * It may call rooms, and what they may call. A process that only reads the options loads no client of a server. Recovery is
 * put around it in `host/runtime/open-bus.ts`.
 */
export type {
  Backplane,
  BackplaneSurroundings,
  BusHealth,
  SentFrames,
} from './backplane.js';
export {
  type BackplaneChoice,
  type BackplaneName,
  backplaneKindOf,
  backplaneNameOf,
  backplaneNames,
} from './registry.js';
