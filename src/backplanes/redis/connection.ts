import type { Redis, RedisOptions } from 'ioredis';

/** The prefix of the channels of stock servers and emitters. */
export const DEFAULT_PREFIX = 'socket.io';

/** How often a connection is pinged, in ms. */
const PING_INTERVAL_MS = 1000;
/** How long Redis may take to answer a command, in ms. */
const MAX_SILENCE_MS = 2500;

/** The options of every connection of a backplane. */
export const connectionOptions = {
  connectTimeout: 2000,
  // A connection that was cut off cannot be closed gracefully, so waiting is pointless.
  disconnectTimeout: 200,
  socketTimeout: MAX_SILENCE_MS,
  // Commands that cannot be sent at once are dropped. The subscriptions' classes renew them.
  enableOfflineQueue: false,
  // It asks with INFO, for which the user may lack the right. What must not be sent yet is rejected, and repeated.
  enableReadyCheck: false,
  autoResubscribe: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  retryStrategy: (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 6), 1000),
} satisfies RedisOptions;

/**
 * Pings connections regularly. Without pings, a connection that was cut off looks idle, and a stopped Redis looks slow.
 * ioredis disconnects a Redis that does not answer within {@link MAX_SILENCE_MS}. Returns a function that ends the
 * watch.
 */
export function keepWatch(connections: () => Iterable<Redis>): () => void {
  const timer = setInterval(() => {
    for (const redis of connections()) if (redis.status === 'ready') redis.ping().catch(() => {});
  }, PING_INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * Lets an adapter count its servers while Redis is unreachable: it reports the last known number. A request that waits
 * for their answers then fails with a timeout.
 */
export function countingServers<T extends { serverCount(): Promise<number> }>(
  adapter: T,
  rejections: { note(command: readonly [string, ...string[]], error: unknown): void },
): T {
  const count = adapter.serverCount.bind(adapter);
  let last = 1;
  adapter.serverCount = async () => {
    try {
      last = await count();
    } catch (error) {
      rejections.note(['PUBSUB', 'NUMSUB', 'x'], error);
      // socket.io does not expect counting to fail. An unhandled rejection would end the process.
    }
    return last;
  };
  return adapter;
}
