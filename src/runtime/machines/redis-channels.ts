import { ConnectionHealth } from '../../backplanes/connection-health.js';
import type { BackplaneEvents } from '../../backplanes/index.js';
import { observe } from '../../backplanes/redis/classic.js';
import { openRedis } from '../../backplanes/redis/connection.js';
import { ShardedChannels } from '../../backplanes/redis/sharded-channels.js';
import { Subscriptions } from '../../backplanes/redis/subscriptions.js';
import { own } from '../../base/owner.js';
import type { WorkerChannels } from './channels.js';

interface ChannelOptions {
  /** The URL of Redis; for a cluster one or more, separated by commas. */
  url: string;
  /** Whether it is a Redis Cluster, whose sharded channels are used then. */
  isCluster: boolean;
  /** The prefix of the channels. */
  prefix: string;
  /** The name of this worker. */
  name: string;
  events: BackplaneEvents;
}

/** One connection to publish, one to subscribe. */
interface Connections {
  publish(channel: string, message: Buffer): Promise<number>;
  readonly publishName: 'PUBLISH' | 'SPUBLISH';
  close(): void;
}

/** Opens this worker's channel, and sends to those of others. */
export function redisChannels({ url, isCluster, prefix, name, events }: ChannelOptions): WorkerChannels {
  let onMessage: (bytes: Buffer) => void = () => {};
  let onLoss = () => {};
  const channelOf = (worker: string) => `${prefix}-relay#${worker}`;
  const health = new ConnectionHealth({
    ...events,
    onDown: (...details) => {
      events.onDown(...details);
      onLoss();
    },
  });
  const open = isCluster ? openSharded : openClassic;
  const connections = open(url, channelOf(name), health, (bytes) => onMessage(bytes));
  return {
    traffic: health,
    get isUp() {
      return health.isUp;
    },
    publish: (to, message) => {
      const channel = channelOf(to);
      return health.send(message.length, () => connections.publish(channel, message), [
        connections.publishName,
        channel,
      ]);
    },
    listen: (message, loss) => {
      onMessage = message;
      onLoss = loss;
    },
    ready: () => health.whenUp(),
    close: () => {
      connections.close();
    },
  };
}

type Receive = (bytes: Buffer) => void;

function openClassic(url: string, channel: string, health: ConnectionHealth, receive: Receive): Connections {
  const redis = [openRedis(url), openRedis(url)] as const;
  const [publisher, subscriber] = redis;
  const update = () => health.update(answers(publisher) && subscriptions.isRenewed);
  const subscriptions = new Subscriptions(subscriber, update, health.rejections, (_channel, bytes) => receive(bytes));
  own('subscribing to the channel of this worker', subscriptions.subscribe(channel));
  const answers = observe(redis, health, update);
  return {
    publishName: 'PUBLISH',
    publish: (to, message) => publisher.publish(to, message),
    close: () => {
      for (const connection of redis) connection.disconnect();
    },
  };
}

function openSharded(url: string, channel: string, health: ConnectionHealth, receive: Receive): Connections {
  const update = () => health.update(channels.isComplete);
  const channels = new ShardedChannels(url, health, {
    onChange: update,
    onMessage: (_channel, bytes) => receive(bytes),
  });
  own('subscribing to the channel of this worker', channels.subscribe(channel));
  return {
    publishName: 'SPUBLISH',
    publish: (to, message) => channels.publish(to, message),
    close: () => channels.close(),
  };
}
