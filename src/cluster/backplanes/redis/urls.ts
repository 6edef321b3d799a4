import type { RedisOptions } from 'ioredis';

/** A node of a cluster, in the form that ioredis accepts. */
export interface RedisNode {
  host: string;
  port: number;
}

/** The nodes that REDIS_URL names, separated by commas. */
export function redisUrls(value: string): string[] {
  return value.split(',').map((url) => url.trim());
}

/** How to reach a cluster: some of its nodes, and the credentials, which come from the first URL. */
export function clusterAddress(value: string): { nodes: RedisNode[]; options: RedisOptions } {
  const urls = redisUrls(value).map((url) => new URL(url));
  const [{ protocol, username, password }] = urls as [URL];
  return {
    nodes: urls.map(({ hostname, port }) => ({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 6379) })),
    options: {
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' && { tls: {} }),
    },
  };
}
