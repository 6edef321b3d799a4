import type { Cluster, RedisOptions } from 'ioredis';
import { owned } from '../../base/owner.js';
import type { ConnectionHealth } from '../connection-health.js';
import { reasonOf } from '../redis-cause.js';
import { reasonFor } from '../redis-greeting.js';
import { openCluster } from './connection.js';
import { wouldAccept } from './rejections.js';
import { ShardedSubscriptions } from './sharded-subscriptions.js';
import { clusterAddress } from './urls.js';

interface ClusterConnection {
  readonly cluster: Cluster;
  readonly subscriptions: ShardedSubscriptions;
  /** The credentials for each node. */
  readonly options: RedisOptions;
  /** Call this when what `isReady` returns may have changed. */
  update(): void;
  close(): void;
}

/**
 * Connects with a Redis Cluster, and keeps the health of the connections up to date.
 * @param url one or more nodes of the cluster, separated by commas
 * @param isReady whether the subscriptions suffice; gets whether all of them are confirmed
 */
export function connectCluster(
  url: string,
  health: ConnectionHealth,
  isReady: (isConfirmed: boolean) => boolean,
): ClusterConnection {
  const { options } = clusterAddress(url);
  const cluster = openCluster(url);
  const update = () => {
    const { isComplete, isPending } = subscriptions;
    const isUp = isReady(isComplete && !isPending);
    health.update(cluster.status === 'ready' && isComplete && isUp);
  };
  let isAsking = false;
  const onError = async (error: Error) => {
    health.reason ||= reasonOf(error);
    if (isAsking) return;
    isAsking = true;
    health.reason = await reasonFor(cluster, error, url).finally(() => {
      isAsking = false;
    });
    update();
  };
  const onOwnedError = owned('reading why Redis is unreachable', onError);
  const subscriptions = new ShardedSubscriptions(cluster, options, {
    onChange: update,
    onError: onOwnedError,
    rejections: health.rejections,
  });
  health.wouldAccept = (command) => wouldAccept(cluster.nodes('master')[0], command);
  cluster.on('error', onOwnedError);
  cluster.on('node error', onOwnedError);
  for (const event of ['ready', 'close', '-node', '+node']) cluster.on(event, update);
  return {
    cluster,
    subscriptions,
    options,
    update,
    close: () => {
      subscriptions.close();
      cluster.disconnect();
    },
  };
}
