import { createAdapter } from '@socket.io/redis-adapter';
import type { Redis } from 'ioredis';
import type { Namespace, Socket } from 'socket.io';
import { Adapter } from 'socket.io-adapter';
import { own, raise } from '../../../base/owner.js';
import { sendable } from '../../../base/sendable.js';
import { detailsOf, endWith, sendableSocket } from '../../../io/socket-io.private.js';
import type { Backplane, BackplaneEvents } from '../backplane.js';
import { isConnectionRejected, reasonOf } from '../broker-cause.js';
import { checkBroadcast, checkRequest, checkResponse } from '../checks.js';
import { ConnectionHealth, type Inbox, malformed } from '../connection-health.js';
import { countingServers, DEFAULT_PREFIX, openRedis } from './connection.js';
import { defaultParser, type MessageParser } from './redis-adapter.private.js';
import { Subscriptions } from './subscriptions.js';

/** The first byte of a message in JSON. */
const BRACE = 0x7b;

/** The type of a client's acknowledgement in `@socket.io/redis-adapter`. */
const ACKNOWLEDGEMENT = 9;

const parser = defaultParser();

/**
 * A message of `@socket.io/redis-adapter` on its way to the adapter, instead of its bytes. The adapter decodes it with
 * {@link classicParser}, after it has looked whether this worker has the room at all.
 */
export class ClassicMessage {
  constructor(
    private readonly bytes: Buffer,
    private readonly inbox: Inbox,
    private readonly check: (value: unknown) => void,
  ) {}

  read(): unknown {
    try {
      const value = this.bytes[0] === BRACE ? JSON.parse(this.bytes.toString()) : parser.decode(this.bytes);
      this.check(value);
      return value;
    } catch (error) {
      const dropped = malformed(error);
      // The adapter ignores the exception where it expects requests and responses.
      this.inbox.drop(dropped);
      throw dropped;
    }
  }
}

/** An answer of a client, which may be nested too deeply. It is encoded where nothing could catch an exception. */
function isAcknowledgement(value: unknown): boolean {
  return (value as { type?: unknown } | undefined)?.type === ACKNOWLEDGEMENT;
}

/** The parser for the adapter's option: it decodes and checks {@link ClassicMessage}s. */
export const classicParser: MessageParser = {
  encode: (value) => parser.encode(isAcknowledgement(value) ? sendable(value, 'an acknowledgement') : value),
  decode: (message) => (message as unknown as ClassicMessage).read(),
};

/**
 * Hands messages of Redis to adapters.
 * @param prefix the prefix of the channels
 */
export function classicReceiver(prefix: string, inbox: Inbox) {
  const responses = Buffer.from(`${prefix}-response#`);
  return (channel: Buffer, bytes: Buffer, isBroadcast: boolean, emit: (message: unknown) => void): void => {
    const isResponse = channel.subarray(0, responses.length).equals(responses);
    const check = isBroadcast ? checkBroadcast : isResponse ? checkResponse : checkRequest;
    const message = new ClassicMessage(bytes, inbox, check);
    inbox.receive(
      () => false,
      () => emit(message),
    );
  };
}

/** The request of `@socket.io/redis-adapter` for the sockets of other servers. */
const FETCH_SOCKETS = 5;

interface Request {
  readonly type: number;
  readonly requestId: string;
  readonly opts: { readonly rooms: readonly string[]; readonly except: readonly string[] };
}

/** The private method with which the adapter answers. */
interface AnsweringAdapter extends Adapter {
  publishResponse(request: Request, response: string): void;
}

/**
 * Answers requests that the adapter cannot answer, because JSON cannot express the data of a socket. The adapter itself rejects
 * then, and nothing waits for its promise.
 */
export class ClassicRequests {
  private readonly adapters = new Map<string, AnsweringAdapter>();

  /** @param prefix the prefix of the channels */
  constructor(private readonly prefix: string) {}

  add<T extends Adapter>({ name }: Namespace, adapter: T): T {
    const channel = `${this.prefix}-request#${name}#`;
    this.adapters.set(channel, adapter as Adapter as AnsweringAdapter);
    endWith(adapter, () => {
      if ((this.adapters.get(channel) as Adapter | undefined) === adapter) this.adapters.delete(channel);
    });
    return adapter;
  }

  /** The adapter's listener has rejected. */
  rejected(error: unknown, channel: Buffer, message: ClassicMessage): void {
    const adapter = this.adapters.get(channel.toString());
    const request = message.read() as Request;
    if (adapter && request.type === FETCH_SOCKETS) {
      return own('describing the sockets of this worker', this.describe(adapter, request));
    }
    // A listener of the application has thrown it, such as one for `disconnect`.
    raise(error);
  }

  private async describe(adapter: AnsweringAdapter, request: Request): Promise<void> {
    const { rooms, except } = request.opts;
    const found = await Adapter.prototype.fetchSockets.call(adapter, {
      rooms: new Set(rooms),
      except: new Set(except),
    });
    const sockets = (found as Socket[]).map((socket) => sendableSocket(detailsOf(socket)));
    adapter.publishResponse(request, JSON.stringify({ requestId: request.requestId, sockets }));
  }
}

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
  const requests = new ClassicRequests(prefix);
  const subscriptions = new Subscriptions(subscriber, update, outage.rejections, receive, (error, channel, message) =>
    requests.rejected(error, channel, message as ClassicMessage),
  );
  const answers = observe(redis, outage, update);
  const createFor = createAdapter(publishingClient(publisher, outage), subscriptions, {
    key: prefix,
    parser: classicParser,
  });
  return {
    name: 'redis',
    factory: (nsp: Namespace) => {
      const adapter = requests.add(nsp, countingServers(createFor(nsp), outage.rejections));
      return Object.defineProperty(adapter, 'isUp', { get: () => outage.isUp });
    },
    ready: () => outage.whenUp().then(() => subscriptions.confirmed()),
    traffic: outage,
    close: () => {
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
