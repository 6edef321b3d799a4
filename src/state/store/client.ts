import { Cluster, Redis } from 'ioredis';
import { connectionOptions, keepWatch } from '../../backplanes/redis/connection.js';
import { isClusterNode } from '../../backplanes/redis/topology.js';
import { clusterAddress } from '../../backplanes/redis/urls.js';
import { reasonOf } from '../../backplanes/redis-cause.js';
import { reasonFor } from '../../backplanes/redis-greeting.js';
import { owned } from '../../base/owner.js';

/** How often Redis is asked what it is, if it did not say, in ms. */
const RETRY_MS = 1000;

/** What happens to a client. */
export interface ClientEvents {
  /** There is a client, which may not be connected yet. */
  onClient(client: Redis | Cluster): void;
  onReady(): void;
  onError(reason: string): void;
}

/**
 * Connects with the Redis, or the Redis Cluster, of a URL. A Redis that does not answer is disconnected after a few
 * seconds, so that what was sent to it does not wait forever.
 * @returns ends the connection
 */
export function connectStore(url: string, events: ClientEvents): () => void {
  let end: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  const connect = async () => {
    const isCluster = url.includes(',') || (await isClusterNode(url));
    if (isClosed) return;
    if (isCluster === undefined) {
      events.onError(await whyNot(url));
      timer = setTimeout(connectNow, RETRY_MS).unref();
    } else end = isCluster ? openCluster(url, events) : openRedis(url, events);
  };
  const connectNow = owned('connecting the state rooms with Redis', connect);
  connectNow();
  return () => {
    isClosed = true;
    clearTimeout(timer);
    end?.();
  };
}

function openRedis(url: string, events: ClientEvents): () => void {
  const redis = new Redis(url, connectionOptions);
  outlivesNothing(redis);
  const endWatch = keepWatch(() => [redis]);
  const onError = async (error: Error) => events.onError(await reasonFor(redis, error));
  redis.on('error', owned('reading why Redis is unreachable', onError));
  redis.on('ready', events.onReady);
  events.onClient(redis);
  return () => {
    endWatch();
    redis.disconnect();
  };
}

function openCluster(url: string, events: ClientEvents): () => void {
  const { enableOfflineQueue: _, retryStrategy, ...withoutQueue } = connectionOptions;
  const { nodes, options } = clusterAddress(url);
  const cluster = new Cluster(nodes, {
    enableOfflineQueue: false,
    clusterRetryStrategy: retryStrategy,
    slotsRefreshInterval: 5000,
    redisOptions: { ...withoutQueue, ...options },
  });
  cluster.on('+node', outlivesNothing);
  const endWatch = keepWatch(() => cluster.nodes('master'));
  const onError = async (error: Error) => events.onError(await reasonFor(cluster, error, url));
  cluster.on('error', owned('reading why Redis is unreachable', onError));
  cluster.on('node error', (error: Error) => events.onError(reasonOf(error)));
  for (const event of ['ready', '+node']) cluster.on(event, events.onReady);
  events.onClient(cluster);
  return () => {
    endWatch();
    cluster.disconnect();
  };
}

/** A process whose servers are closed ends, also if the application has not closed its rooms. */
function outlivesNothing(redis: Redis): void {
  redis.on('connect', () => redis.stream.unref());
}

/** Why a Redis does not say what it is. */
async function whyNot(url: string): Promise<string> {
  const redis = new Redis(url, {
    ...connectionOptions,
    enableOfflineQueue: true,
    lazyConnect: true,
    retryStrategy: () => null,
  });
  let reason = '';
  redis.on('error', (error: Error) => {
    reason ||= reasonOf(error);
  });
  try {
    await redis.connect();
    await redis.ping();
    return reason;
  } catch (error) {
    return reasonFor(redis, new Error(reason || reasonOf(error as Error)));
  } finally {
    redis.disconnect();
  }
}
