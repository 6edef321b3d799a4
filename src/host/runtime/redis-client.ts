import type { Cluster, Redis, RedisOptions } from 'ioredis';

/** A connection for other purposes than the backplane: to a cluster if REDIS_URL names nodes of one. */
export async function redisClient(
  { redisUrl }: { readonly redisUrl: string },
  options: RedisOptions,
): Promise<Redis | Cluster> {
  // Only a process that uses Redis loads its client.
  const { isClusterUrl, openCluster, openRedis } = await import('../../cluster/backplanes/redis/connection.js');
  return (await isClusterUrl(redisUrl)) ? openCluster(redisUrl, options) : openRedis(redisUrl, options);
}
