import type { Cluster, Redis, RedisOptions } from 'ioredis';
import type { StoreSettings } from '../../options.js';
import { storeKeyOf } from './fields.js';

/** Where a room is stored: a URL, or a client within one process. */
export interface StoreAddress {
  readonly redis: string | Redis | Cluster;
  readonly key: string;
}

/** @param isLocal whether the sequencer is in this process */
export function storeAddressOf(
  { redis, keyPrefix }: StoreSettings,
  nsp: string,
  name: string,
  isLocal: boolean,
): StoreAddress {
  const key = storeKeyOf(keyPrefix, nsp, name);
  return { redis: isLocal || typeof redis === 'string' ? redis : urlOf(redis), key };
}

/** The URL with which the hub, which is in another thread, connects with the Redis of a client. */
function urlOf(client: Redis | Cluster): string {
  if (!('startupNodes' in client)) return urlWith(client.options, client.options);
  const { startupNodes, options } = client as unknown as {
    startupNodes: (string | number | RedisOptions)[];
    options: { redisOptions?: RedisOptions };
  };
  const nodes = startupNodes.map((node) => {
    if (typeof node === 'string') return node;
    return urlWith(typeof node === 'number' ? { port: node } : node, options.redisOptions ?? {});
  });
  return nodes.join(',');
}

function urlWith({ host = 'localhost', port = 6379 }: RedisOptions, given: RedisOptions): string {
  const { username = '', password, db = 0, tls } = given;
  const user = password ? `${encodeURIComponent(username ?? '')}:${encodeURIComponent(password)}@` : '';
  return `${tls ? 'rediss' : 'redis'}://${user}${host.includes(':') ? `[${host}]` : host}:${port}/${db || ''}`;
}
