import { createAdapter } from '@socket.io/redis-adapter';
import type { Redis } from 'ioredis';
import type { Namespace } from 'socket.io';
import { own } from '../../base/owner.js';
import type { Backplane, BackplaneEvents } from '../backplane.js';
import { ConnectionHealth } from '../connection-health.js';
import { framesChannel } from '../frames/machines/channels.js';
import { OtherWire } from '../other-wire.js';
import { isConnectionRejected, reasonOf } from '../redis-cause.js';
import { type ClassicMessage, classicParser, classicReceiver } from './classic-message.js';
import { ClassicRequests } from './classic-requests.js';
import { countingServers, DEFAULT_PREFIX, openRedis } from './connection.js';
import { Subscriptions } from './subscriptions.js';

type CountCallback = (error: Error | null | undefined, reply: unknown) => void;

/** How often Redis is asked again on a connection that it rejects, in ms. */
const RETRY_INTERVAL_MS = 1000;

/** The methods that the adapters call on the client that they publish with. */
interface PublishingClient {
  publish(channel: string, message: string | Buffer): Promise<number>;
  send_command(command: string, args: string[], done: CountCallback): unknown;
  on(event: string, listener: () => void): void;
  off(event: string, listener: () => void): void;
}

/**
 * The classic Redis backplane, over pub/sub. It connects workers on any number of machines, and other Socket.IO servers
 * and emitters that use `@socket.io/redis-adapter`.
 */
export function redisBackplane(url: string, events: BackplaneEvents, prefix = DEFAULT_PREFIX): Backplane {
  const outage = new ConnectionHealth(events);
  const redis = [openRedis(url), openRedis(url)] as const;
  const [publisher, subscriber] = redis;
  const update = () => outage.update(answers(publisher) && subscriptions.isRenewed);
  const receive = classicReceiver(prefix, outage.inbox);
  const otherWire = new OtherWire('redis-frames', events);
  const frames = Buffer.from(framesChannel(prefix));
  const requests = new ClassicRequests(prefix);
  const subscriptions = new Subscriptions(
    subscriber,
    update,
    outage.rejections,
    (channel, ...message) => {
      if (channel.equals(frames)) otherWire.note();
      else receive(channel, ...message);
    },
    (error, channel, message) => requests.rejected(error, channel, message as ClassicMessage),
  );
  own('subscribing to the frames of other servers', subscriptions.subscribe(frames.toString()));
  const answers = observe(redis, outage, update);
  const createFor = createAdapter(publishingClient(publisher, outage), subscriptions, {
    key: prefix,
    parser: classicParser,
  });
  return {
    name: 'redis',
    factory: (nsp: Namespace) => requests.add(nsp, countingServers(createFor(nsp), outage.rejections)),
    ready: () => outage.whenUp().then(() => subscriptions.confirmed()),
    caughtUp: () => subscriber.ping(),
    traffic: outage,
    close: () => {
      otherWire.close();
      for (const connection of redis) connection.disconnect();
    },
  };
}

/**
 * Updates the connection health when a connection is made or lost.
 * @returns whether Redis answers on a connection: the system accepts connections for a Redis that hangs, too
 */
export function observe(
  connections: Iterable<Redis>,
  outage: ConnectionHealth,
  update: () => void,
): (redis: Redis) => boolean {
  const answering = new Set<Redis>();
  for (const redis of connections) {
    redis.on('error', (error: Error) => {
      outage.reason = reasonOf(error);
      if (!answering.has(redis)) update();
    });
    redis.on('ready', () => {
      const answered = () => {
        if (redis.status !== 'ready') return;
        answering.add(redis);
        outage.reason = '';
        update();
      };
      const ask = () =>
        redis.ping().then(answered, (error: Error) => {
          if (error.name !== 'ReplyError') return;
          // A Redis that rejects the command has answered, too, unless it rejects everything.
          if (!isConnectionRejected(error.message)) return answered();
          outage.reason = reasonOf(error);
          update();
          if (redis.status === 'ready') setTimeout(() => redis.status === 'ready' && ask(), RETRY_INTERVAL_MS).unref();
        });
      ask();
    });
    redis.on('close', () => {
      answering.delete(redis);
      update();
    });
  }
  return (redis) => answering.has(redis);
}

/** A client to publish with that counts what it cannot send. */
export function publishingClient(redis: Redis, outage: ConnectionHealth): PublishingClient {
  return {
    publish: (channel, message) =>
      outage.send(message.length, () => redis.publish(channel, message), ['PUBLISH', channel]),
    send_command: (command, args, done) => redis.call(command, args).then((reply) => done(null, reply), done as never),
    // The connection's errors have a listener already.
    on: () => {},
    off: () => {},
  };
}
