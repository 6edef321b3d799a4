import { type Cluster, Redis } from 'ioredis';
import { owned } from '../../../../base/owner.js';
import { connectOnce, isClusterNode, openCluster, openRedis } from '../../../../cluster/backplanes/redis/connection.js';
import { reasonOf } from '../../../../cluster/backplanes/redis-cause.js';

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
    } else end = use(isCluster ? openCluster(url) : openRedis(url), events);
  };
  const connectNow = owned('connecting the state rooms with Redis', connect);
  connectNow();
  return () => {
    isClosed = true;
    clearTimeout(timer);
    end?.();
  };
}

/** Listens to a client, and hands it over. */
function use(client: Redis | Cluster, events: ClientEvents): () => void {
  const onError = (error: Error) => events.onError(reasonOf(error));
  client.on('error', onError);
  client.on('node error', onError);
  for (const event of ['ready', '+node']) client.on(event, events.onReady);
  if (client instanceof Redis) outlivesNothing(client);
  else client.on('+node', outlivesNothing);
  events.onClient(client);
  return () => client.disconnect();
}

/** A process whose servers are closed ends, also if the application has not closed its rooms. */
function outlivesNothing(redis: Redis): void {
  redis.on('connect', () => redis.stream.unref());
}

/** Why a Redis does not say what it is. */
async function whyNot(url: string): Promise<string> {
  const redis = connectOnce(url);
  let reason = '';
  redis.on('error', (error: Error) => {
    reason ||= reasonOf(error);
  });
  try {
    await redis.ping();
    return reason;
  } catch (error) {
    return reason || reasonOf(error as Error);
  } finally {
    redis.disconnect();
  }
}
