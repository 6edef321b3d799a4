import { captureRejectionSymbol, EventEmitter } from 'node:events';
import { createAdapter } from '@socket.io/redis-adapter';
import type { Redis } from 'ioredis';
import { MalformedMessage } from '../../../base/errors.js';
import { reportFailure } from '../../../base/owner.js';
import { sendable } from '../../../base/sendable.js';
import type { Backplane } from '../backplane.js';
import { ConnectionHealth, malformed } from '../connection-health.js';
import { DEFAULT_PREFIX, observe, openRedis } from './connection.js';
import { defaultParser, type MessageParser } from './redis-adapter.private.js';
import { Subscriptions } from './subscriptions.js';

/** The type of a client's acknowledgement in `@socket.io/redis-adapter`. */
const ACKNOWLEDGEMENT = 9;

const { encode, decode } = defaultParser();

/** @param drop gets the error of bytes that cannot be decoded; the adapter ignores it where it expects requests and responses */
function parserWith(drop: (error: MalformedMessage) => void): MessageParser {
  return {
    // The adapter encodes what a client acknowledges where nothing would catch an exception.
    encode: (value) =>
      encode((value as { type?: unknown }).type === ACKNOWLEDGEMENT ? sendable(value, 'an acknowledgement') : value),
    decode: (bytes) => {
      try {
        return decode(bytes);
      } catch (error) {
        const dropped = malformed(error);
        drop(dropped);
        throw dropped;
      }
    },
  };
}

/**
 * The bus of {@link createAdapter}, as an application could pass it. It connects workers on any number of machines, and other
 * Socket.IO servers and emitters that use `@socket.io/redis-adapter`. What is ours: an outage is reported, and neither an outage nor a
 * malformed message ends the worker.
 */
export function redisBackplane(url: string, prefix = DEFAULT_PREFIX): Backplane {
  const outage = new ConnectionHealth('Redis');
  const redis = [openRedis(url), openRedis(url)] as const;
  const [publisher, subscriber] = redis;
  const update = () => outage.update(answers(publisher) && subscriptions.isRenewed);
  const subscriptions = new Subscriptions(subscriber, update, outage.rejections);
  const answers = observe(redis, outage, update);
  const createFor = createAdapter(publishingClient(publisher, outage), new SubscribingClient(subscriptions, outage), {
    key: prefix,
    parser: parserWith((error) => outage.inbox.drop(error)),
  });
  return {
    name: 'redis',
    factory: (nsp) => Object.defineProperty(createFor(nsp), 'isUp', { get: () => outage.isUp }),
    ready: () => outage.whenUp().then(() => subscriptions.confirmed()),
    health: outage,
    close: () => {
      for (const connection of redis) connection.disconnect();
    },
  };
}

/** The client that the adapters subscribe with. */
class SubscribingClient extends EventEmitter {
  readonly psubscribe: Subscriptions['psubscribe'];
  readonly punsubscribe: Subscriptions['punsubscribe'];
  readonly subscribe: Subscriptions['subscribe'];
  readonly unsubscribe: Subscriptions['unsubscribe'];

  constructor(
    subscriptions: Subscriptions,
    private readonly outage: ConnectionHealth,
  ) {
    // The adapters answer requests in asynchronous listeners. Their rejections arrive at the method below.
    super({ captureRejections: true });
    // Each namespace listens.
    this.setMaxListeners(0);
    this.psubscribe = (patterns) => subscriptions.psubscribe(patterns);
    this.punsubscribe = (patterns) => subscriptions.punsubscribe(patterns);
    this.subscribe = (channels) => subscriptions.subscribe(channels);
    this.unsubscribe = (channels) => subscriptions.unsubscribe(channels);
    subscriptions.onMessage = (channel, bytes, pattern) => {
      try {
        if (pattern) this.emit('pmessageBuffer', pattern, channel, bytes);
        else this.emit('messageBuffer', channel, bytes);
      } catch (error) {
        this.drop(error);
      }
    };
  }

  override [captureRejectionSymbol](error: unknown): void {
    this.drop(error);
  }

  /** Listeners of the application run within those of the adapter: the log has the whole error. */
  private drop(error: unknown): void {
    this.outage.inbox.drop(malformed(error));
    if (!(error instanceof MalformedMessage)) reportFailure('handling a message of Redis', error);
  }
}

type CountCallback = (error: Error | null, reply: unknown) => void;

/** The methods that the adapters call on the client that they publish with. */
interface PublishingClient {
  publish(channel: string, message: string | Buffer): Promise<number | undefined>;
  send_command(command: string, args: string[], done: CountCallback): unknown;
  on(event: string, listener: () => void): void;
  off(event: string, listener: () => void): void;
}

/** A client to publish with that counts what it cannot send. The adapters expect that neither method fails. */
function publishingClient(redis: Redis, outage: ConnectionHealth): PublishingClient {
  /** The last number of servers by the command that asks for it, of which a timeout tells who is missing. */
  const counts = new Map<string, unknown>();
  return {
    publish: (channel, message) =>
      outage.send(message.length, () => redis.publish(channel, message), ['PUBLISH', channel]).catch(() => undefined),
    send_command: (command, args, done) => {
      const key = args.join(' ');
      return redis.call(command, args).then(
        (reply) => {
          outage.rejections.note([command]);
          counts.set(key, reply);
          done(null, reply);
        },
        (error) => {
          outage.rejections.note([command], error);
          done(null, counts.get(key) ?? [key, 1]);
        },
      );
    },
    // The connection's errors have a listener already.
    on: () => {},
    off: () => {},
  };
}
