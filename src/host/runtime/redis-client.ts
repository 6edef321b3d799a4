import type { Cluster, Redis, RedisOptions } from 'ioredis';
import { owned } from '../../base/owner.js';
import {
  type BackplaneChoice,
  type BackplaneName,
  backplaneKindOf,
  backplaneNameOf,
} from '../../cluster/backplanes/index.js';

/** How often Redis is asked what it is, if it did not say at the start, in ms. */
const RETRY_INTERVAL_MS = 5000;

/**
 * The backplane for this machine: on a node of a Redis Cluster, `auto` and `redis-frames` mean a sharded one. The primary
 * chooses for all of its workers, because workers on different backplanes do not hear each other.
 * @param onLate called later if Redis was unreachable, and turns out to be a node of a cluster
 */
export async function chooseBackplane(
  choice: BackplaneChoice,
  onLate: (bus: BackplaneName) => void,
): Promise<BackplaneName> {
  const { redisUrl } = choice;
  const [onOne, onCluster] = [backplaneNameOf(choice), backplaneNameOf(choice, true)];
  if (!redisUrl || onOne === onCluster) return onOne;
  const isCluster = await isClusterNode(redisUrl);
  if (isCluster === undefined) askLater(redisUrl, () => onLate(onCluster));
  return isCluster ? onCluster : onOne;
}

function askLater(redisUrl: string, onLate: () => void): void {
  const ask = async () => {
    const isCluster = await isClusterNode(redisUrl);
    if (isCluster) onLate();
    else if (isCluster === undefined) askLater(redisUrl, onLate);
  };
  setTimeout(owned('asking whether Redis is a cluster', ask), RETRY_INTERVAL_MS).unref();
}

/** A connection for other purposes than the backplane: to a cluster if REDIS_URL names nodes of one. */
export async function redisClient(
  choice: BackplaneChoice & { readonly redisUrl: string },
  options: RedisOptions,
): Promise<Redis | Cluster> {
  const { redisUrl } = choice;
  const { isSharded } = backplaneKindOf(backplaneNameOf(choice));
  const isCluster = isSharded || redisUrl.includes(',') || (await isClusterNode(redisUrl));
  const { openCluster, openRedis } = await import('../../cluster/backplanes/redis/connection.js');
  return isCluster ? openCluster(redisUrl, options) : openRedis(redisUrl, options);
}

/** Only a process that uses Redis loads its client. */
async function isClusterNode(redisUrl: string): Promise<boolean | undefined> {
  const { isClusterNode } = await import('../../cluster/backplanes/redis/connection.js');
  return isClusterNode(redisUrl);
}
