import { Redis } from 'ioredis';
import { connectionOptions } from './connection.js';

/** How long Redis may take to answer, in ms. */
const TIMEOUT_MS = 2000;

/**
 * Whether a URL names a node of a Redis Cluster. Resolves with undefined if Redis does not say: it is unreachable, or its
 * user has neither the right to INFO nor to CLUSTER INFO.
 */
export async function isClusterNode(url: string): Promise<boolean | undefined> {
  const redis = new Redis(url, {
    ...connectionOptions,
    enableOfflineQueue: true,
    commandTimeout: TIMEOUT_MS,
    retryStrategy: () => null,
  });
  redis.on('error', () => {});
  try {
    const info = await redis.info('cluster').catch(() => undefined);
    const answer = /^cluster_enabled:([01])/m.exec(info ?? '')?.[1];
    if (answer !== undefined) return answer === '1';
    return await redis.call('CLUSTER', 'INFO').then(
      () => true,
      (error: Error) => (error.message.includes('cluster support disabled') ? false : undefined),
    );
  } finally {
    redis.disconnect();
  }
}
