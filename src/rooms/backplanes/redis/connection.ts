import type { Redis, RedisOptions } from 'ioredis';

/** How often a connection is asked for a sign of life, in ms. */
const PING_INTERVAL_MS = 1000;
/** How long Redis may be silent when something was asked, in ms. */
const MAX_SILENCE_MS = 2500;
/** How long one read of a stream waits for news, in ms: shorter than the silence that ends a connection. */
export const BLOCK_MS = 1000;

/** How every connection of a bus is set up. */
export const connectionOptions = {
  connectTimeout: 2000,
  // A connection that was cut off cannot be closed in order; there is nothing to wait for.
  disconnectTimeout: 200,
  socketTimeout: MAX_SILENCE_MS,
  // What cannot be sent at once is given up; subscriptions are renewed by who wants them.
  enableOfflineQueue: false,
  autoResubscribe: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  retryStrategy: (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 6), 1000),
} satisfies RedisOptions;

/**
 * Pings connections now and then: one that was cut off looks like an idle one, and a Redis that has stopped like a slow
 * one. Who does not answer is disconnected by the silence allowed. Returns what ends the watch.
 */
export function keepWatch(connections: () => Iterable<Redis>): () => void {
  const timer = setInterval(() => {
    for (const redis of connections()) if (redis.status === 'ready') redis.ping().catch(() => {});
  }, PING_INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * The answer to how many servers there are, where Redis may be away: as many as there were. Who then waits for answers
 * of them gets the error of a request that has timed out, as if they had not answered.
 */
export function countingServers<T extends { serverCount(): Promise<number> }>(adapter: T): T {
  const count = adapter.serverCount.bind(adapter);
  let last = 1;
  adapter.serverCount = async () => {
    try {
      last = await count();
    } catch {
      // socket.io does not expect that counting fails: the process would end by an unhandled rejection.
    }
    return last;
  };
  return adapter;
}
