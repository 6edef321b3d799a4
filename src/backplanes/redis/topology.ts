import { connectOnce } from './connection.js';

/**
 * Whether a URL names a node of a Redis Cluster. Resolves with undefined if Redis does not say: it is unreachable, or its
 * user has neither the right to INFO nor to CLUSTER INFO.
 */
export async function isClusterNode(url: string): Promise<boolean | undefined> {
  const redis = connectOnce(url);
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
