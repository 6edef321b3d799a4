import { createShardedAdapter } from '@socket.io/redis-adapter';
import { Cluster, type RedisOptions } from 'ioredis';
import type { Namespace } from 'socket.io';
import type { ClusterAdapter, Room, SocketId } from 'socket.io-adapter';
import type { Backplane, BackplaneEvents } from '../backplane.js';
import { ConnectionHealth } from '../connection-health.js';
import { framesChannel } from '../frames/machines/machine-frame-links.js';
import { checked } from '../inbox.js';
import { localFirst } from '../local-first.js';
import { OtherWire } from '../other-wire.js';
import { connectionOptions, countingServers, DEFAULT_PREFIX, keepWatch } from './connection.js';
import { wouldAccept } from './rejections.js';
import { ShardedSubscriptions } from './sharded-subscriptions.js';
import { clusterAddress } from './urls.js';

/**
 * The sharded backplane: `@socket.io/redis-adapter`'s sharded adapter on a Redis Cluster. Each room has its own channel
 * on one master, so a larger cluster carries more messages. Messages to different rooms have no common order.
 * @param url one or more nodes of the cluster, separated by commas
 */
export function redisShardedBackplane(url: string, events: BackplaneEvents, prefix = DEFAULT_PREFIX): Backplane {
  const outage = new ConnectionHealth(events);
  let wasConfirmed = false;
  const { cluster, subscriptions, close } = connectCluster(url, outage, (isConfirmed) => {
    // Later, a request for the channel of a new room is no outage.
    wasConfirmed ||= isConfirmed;
    return wasConfirmed;
  });
  const otherWire = new OtherWire('redis-frames-sharded', events);
  const frames = Buffer.from(framesChannel(prefix));
  subscriptions.on('smessageBuffer', (channel: Buffer) => {
    if (channel.equals(frames)) otherWire.note();
  });
  subscriptions.ssubscribe(frames.toString());
  const client = {
    isCluster: true,
    nodes: () =>
      cluster.nodes('master').map((node) => ({
        send_command: (command: string, args: string[]) => node.call(command, args),
      })),
    spublish: (channel: string, message: string | Buffer) =>
      outage.send(message.length, () => cluster.spublish(channel, message), ['SPUBLISH', channel, 'x']),
  };
  const createFor = createShardedAdapter(client, subscriptions, { channelPrefix: prefix });
  const checkedAdapter = (adapter: unknown) => checked(adapter as ClusterAdapter, outage.inbox);
  return {
    name: 'redis-sharded',
    factory: (nsp: Namespace) =>
      waitingForRooms(localFirst(countingServers(checkedAdapter(createFor(nsp)), outage.rejections)), subscriptions),
    ready: () => outage.whenUp().then(() => subscriptions.confirmed()),
    traffic: outage,
    close: () => {
      otherWire.close();
      outage.close();
      close();
    },
  };
}

const { enableOfflineQueue: _, retryStrategy, ...withoutQueue } = connectionOptions;

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
 * @param isReady whether the subscriptions suffice; gets whether all of them are confirmed
 */
export function connectCluster(
  url: string,
  health: ConnectionHealth,
  isReady: (isConfirmed: boolean) => boolean,
): ClusterConnection {
  const { nodes, options } = clusterAddress(url);
  const cluster = new Cluster(nodes, {
    enableOfflineQueue: false,
    clusterRetryStrategy: retryStrategy,
    slotsRefreshInterval: 5000,
    redisOptions: { ...withoutQueue, ...options },
  });
  const update = () => {
    const { isComplete, isPending } = subscriptions;
    const isUp = isReady(isComplete && !isPending);
    health.update(cluster.status === 'ready' && isComplete && isUp);
  };
  const onError = (error: Error) => {
    health.reason = error.message || error.name;
  };
  const subscriptions = new ShardedSubscriptions(cluster, options, {
    onChange: update,
    onError,
    rejections: health.rejections,
  });
  health.wouldAccept = (command) => wouldAccept(cluster.nodes('master')[0], command);
  cluster.on('error', onError);
  cluster.on('node error', onError);
  for (const event of ['ready', 'close', '-node', '+node']) cluster.on(event, update);
  const endWatch = keepWatch(() => [...cluster.nodes('master'), ...subscriptions.connections()]);
  return {
    cluster,
    subscriptions,
    options,
    update,
    close: () => {
      endWatch();
      subscriptions.close();
      cluster.disconnect();
    },
  };
}

/**
 * Lets `socket.join()` return a promise while the channel of a new room waits for its confirmation. Code that awaits it
 * misses no message sent from then on.
 */
function waitingForRooms<T extends ClusterAdapter>(adapter: T, subscriptions: ShardedSubscriptions): T {
  const addAll = adapter.addAll.bind(adapter);
  adapter.addAll = (id: SocketId, rooms: Set<Room>) => {
    addAll(id, rooms);
    // A socket's own room has no channel.
    if (!rooms.has(id) && subscriptions.isPending) return subscriptions.confirmed();
  };
  return adapter;
}
