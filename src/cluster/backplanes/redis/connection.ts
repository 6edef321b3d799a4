import { randomInt } from 'node:crypto';
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import { brokerReasonOf, isConnectionRejected } from '../broker-cause.js';
import type { ConnectionHealth } from '../connection-health.js';
import { isList, redisNodesOf, sentinelOf, splitUrls } from './address.js';
import { quietSentinels, requireDatabase } from './client.private.js';

/**
 * Whether a URL leads to a cluster: it lists nodes of one, or its Redis says so, as in {@link isClusterNode}.
 * @param onError told why its Redis does not say
 */
export async function isClusterUrl(url: string, onError?: (error: Error) => void): Promise<boolean | undefined> {
  if (isList(url)) return true;
  const redis = connectOnce(url);
  if (onError) redis.on('error', onError);
  try {
    return await isClusterNode(redis, onError);
  } finally {
    redis.disconnect();
  }
}

/**
 * Whether a Redis is a node of a Redis Cluster. Resolves with undefined if it does not say: it is unreachable, or its user has neither
 * the right to INFO nor to CLUSTER INFO.
 */
export async function isClusterNode(redis: Redis, onError?: (error: Error) => void): Promise<boolean | undefined> {
  const info = await redis.info('cluster').catch(() => undefined);
  const answer = /^cluster_enabled:([01])/m.exec(info ?? '')?.[1];
  if (answer !== undefined) return answer === '1';
  return redis.call('CLUSTER', 'INFO').then(
    () => true,
    (error: Error) => {
      if (error.message.includes('cluster support disabled')) return false;
      onError?.(error);
      return undefined;
    },
  );
}

/** The prefix of the channels of stock servers and emitters. */
export const DEFAULT_PREFIX = 'socket.io';

/** How often a connection is pinged, in ms. */
const PING_INTERVAL_MS = 1000;
/** How long a connection may be silent while it is pinged, in ms. */
const MAX_SILENCE_MS = 2500;
/** How long a connection for a few commands waits for each answer, in ms. */
const ANSWER_TIMEOUT_MS = 2000;

const retryStrategy = (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 6), 1000);

/** The options of every connection to Redis. */
const connectionOptions = {
  connectTimeout: 2000,
  // A connection that was cut off cannot be closed gracefully, so waiting is pointless.
  disconnectTimeout: 200,
  // A command that cannot be sent at once is rejected: its caller repeats it, or has stopped waiting.
  enableOfflineQueue: false,
  // It asks with INFO, for which the user may lack the right. What must not be sent yet is rejected, and repeated.
  enableReadyCheck: false,
  autoResubscribe: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  retryStrategy,
  sentinelRetryStrategy: retryStrategy,
  // Sentinel says when there is another master: the former one may still answer.
  failoverDetector: true,
} satisfies RedisOptions;

/**
 * The options of a store's connection. It is ready only once Redis has answered, and silence ends it as soon as a command
 * times out: nothing further is sent to a Redis that hangs.
 */
export function storeOptions(timeoutMs: number): RedisOptions {
  return {
    ...connectionOptions,
    enableReadyCheck: true,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
    socketTimeout: timeoutMs,
  };
}

/**
 * Opens a connection to one Redis. One that stays silent is closed and made again, also if it looks idle.
 * @param to a URL, or a host and port
 */
export function openRedis(to: string | RedisOptions, options: RedisOptions = {}): Redis {
  const client = clientOf(to, { ...connectionOptions, ...options });
  return watched(client, options.socketTimeout === undefined ? MAX_SILENCE_MS : undefined);
}

function clientOf(to: string | RedisOptions, options: RedisOptions): Redis {
  const address = typeof to === 'string' ? (sentinelOf(to) ?? to) : to;
  const client = typeof address === 'string' ? new Redis(address, options) : new Redis({ ...options, ...address });
  return quietSentinels(requireDatabase(client));
}

/**
 * Opens a connection to one node of a Redis Cluster, as {@link openRedis}. When it ends, it is made to the next node.
 * @param url one or more nodes, separated by commas
 */
export function openClusterNode(url: string): Redis {
  if (!isList(url)) return openRedis(url);
  const { nodes, options } = clusterAddress(url);
  let next = randomInt(nodes.length);
  const redis = openRedis({
    ...options,
    ...nodes[next],
    retryStrategy: (attempt) => {
      next = (next + 1) % nodes.length;
      Object.assign(redis.options, nodes[next]);
      return retryStrategy(attempt);
    },
  });
  return redis;
}

/**
 * Opens the connections to a Redis Cluster, as {@link openRedis}.
 * @param url one or more nodes of the cluster, separated by commas
 */
export function openCluster(url: string, options: RedisOptions = {}, ofCluster: ClusterOptions = {}): Cluster {
  const { nodes, options: credentials } = clusterAddress(url);
  // The client of the cluster decides by itself when it connects with a node again, and what waits for that.
  const { enableOfflineQueue, retryStrategy: clusterRetryStrategy, ...ofNode } = { ...connectionOptions, ...options };
  return watched(
    new Cluster(nodes, {
      enableOfflineQueue,
      clusterRetryStrategy,
      slotsRefreshInterval: 5000,
      ...ofCluster,
      redisOptions: { ...ofNode, ...credentials },
    }),
    options.socketTimeout === undefined ? MAX_SILENCE_MS : undefined,
  );
}

/** Opens a connection for a few commands. It is not made again, and commands wait for it. */
export function connectOnce(url: string): Redis {
  const redis = clientOf(url, {
    ...connectionOptions,
    enableOfflineQueue: true,
    commandTimeout: ANSWER_TIMEOUT_MS,
    retryStrategy: () => null,
    sentinelRetryStrategy: () => null,
    failoverDetector: false,
  });
  redis.on('error', () => {});
  return redis;
}

/**
 * Pings a connection as long as it is there. Without pings, a connection that was cut off looks idle, and a stopped Redis
 * looks slow.
 * @param maxSilenceMs how long it may be silent; without it, its client ends a silent one
 */
export function watched<Client extends Redis | Cluster>(client: Client, maxSilenceMs?: number): Client {
  const watch = (redis: Redis) => watchOne(redis, maxSilenceMs);
  if (client instanceof Cluster) {
    for (const node of client.nodes()) watch(node);
    client.on('+node', watch);
  } else watch(client);
  return client;
}

function watchOne(redis: Redis, maxSilenceMs = Number.POSITIVE_INFINITY): void {
  let timer: NodeJS.Timeout | undefined;
  let heard = { bytes: 0, at: 0 };
  const check = () => {
    const { stream } = redis;
    const now = performance.now();
    if (!timer) return;
    if (stream.bytesRead !== heard.bytes) heard = { bytes: stream.bytesRead, at: now };
    else if (now - heard.at >= maxSilenceMs) stream.destroy(new Error(`Redis has not answered for ${maxSilenceMs} ms`));
  };
  const ping = () => {
    if (redis.status === 'ready') redis.ping().catch(() => {});
    // What has come while this process stood still is read first. The option `socketTimeout` takes that for silence.
    setImmediate(check);
  };
  const begin = () => {
    if (timer) return;
    heard = { bytes: redis.stream.bytesRead, at: performance.now() };
    timer = setInterval(ping, PING_INTERVAL_MS).unref();
  };
  // What a connection is set up with may stay unanswered, too.
  redis.on('connect', begin);
  redis.on('ready', begin);
  redis.on('close', () => {
    clearInterval(timer);
    timer = undefined;
  });
  if (redis.status === 'ready') begin();
}

/** How often Redis is asked again on a connection that it rejects, in ms. */
const RETRY_INTERVAL_MS = 1000;

/**
 * Updates the connection health when a connection is made or lost.
 * @returns whether Redis answers on a connection: the system accepts connections for a Redis that hangs, too
 */
export function observe(
  connections: Iterable<Redis>,
  outage: ConnectionHealth,
  update: () => void,
): (redis: Redis) => boolean {
  const answering = new Set<Redis>();
  for (const redis of connections) {
    redis.on('error', (error: Error) => {
      outage.reason = brokerReasonOf(error);
      if (!answering.has(redis)) update();
    });
    redis.on('ready', () => {
      const answered = () => {
        if (redis.status !== 'ready') return;
        answering.add(redis);
        outage.reason = '';
        update();
      };
      const ask = () =>
        redis.ping().then(answered, (error: Error) => {
          if (error.name !== 'ReplyError') return;
          // A Redis that rejects the command has answered, too, unless it rejects everything.
          if (!isConnectionRejected(error.message)) return answered();
          outage.reason = brokerReasonOf(error);
          update();
          if (redis.status === 'ready') setTimeout(() => redis.status === 'ready' && ask(), RETRY_INTERVAL_MS).unref();
        });
      ask();
    });
    redis.on('close', () => {
      answering.delete(redis);
      update();
    });
  }
  return (redis) => answering.has(redis);
}

const clusterAddress = (value: string) => redisNodesOf(splitUrls(value), 6379);
