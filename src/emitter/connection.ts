import { randomInt } from 'node:crypto';
import { subjectOf } from '../backplanes/nats/address.js';
import { splitMessage } from '../backplanes/nats/parts.js';
import { GjallarError } from '../errors.js';

/** A connection of ioredis or of the package `redis`, to one Redis or to a Redis Cluster. */
export interface RedisConnection {
  publish(channel: string, message: Buffer): Promise<number>;
}

/** A connection of `@nats-io/transport-node`. */
export interface NatsConnection {
  publish(subject: string, payload: Uint8Array): void;
  flush(): Promise<void>;
  readonly info?: { readonly max_payload: number } | undefined;
}

/** What an emitter needs of a connection. Messages arrive in the order of the calls. */
export interface Connection {
  /** What channels begin with unless the emitter is told otherwise: what servers use by default. */
  readonly defaultKey: string;
  /**
   * Resolves when the server has the message, with the number of workers that are subscribed, or undefined if it does not
   * say.
   */
  publish(channel: string, bytes: Buffer): Promise<number | undefined>;
}

type ShardedPublish = (channel: string, message: Buffer) => Promise<number>;

/** What the clients of a Redis Cluster have besides: `isCluster` that of ioredis, `masters` that of the package `redis`. */
interface MaybeCluster extends RedisConnection {
  readonly isCluster?: boolean;
  readonly masters?: unknown;
  spublish?: ShardedPublish;
  sPublish?: ShardedPublish;
  /** Those of ioredis. */
  readonly options?: { readonly autoResendUnfulfilledCommands?: boolean; readonly retryDelayOnFailover?: number };
}

/** @throws GjallarError BAD_INPUT if the client is none that this function knows */
export function connectionOf(client: RedisConnection | NatsConnection): Connection {
  if (typeof client?.publish !== 'function') {
    throw new GjallarError('BAD_INPUT', 'An emitter needs a connection of ioredis, redis or @nats-io/transport-node.');
  }
  return 'flush' in client && 'info' in client ? natsConnection(client) : redisConnection(client as MaybeCluster);
}

function redisConnection(client: MaybeCluster): Connection {
  const isCluster = client.isCluster === true || Array.isArray(client.masters);
  warnOfResending(client);
  const publish = (isCluster ? (client.spublish ?? client.sPublish) : undefined) ?? client.publish;
  return { defaultKey: 'socket.io', publish: async (channel, bytes) => publish.call(client, channel, bytes) };
}

/** The client of the package `redis` sends nothing twice, and has none of these options. */
function warnOfResending({ isCluster, options = {} }: MaybeCluster): void {
  const option = isCluster
    ? 'retryDelayOnFailover: 0'
    : 'autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0';
  const resends = isCluster ? Number(options.retryDelayOnFailover) > 0 : options.autoResendUnfulfilledCommands === true;
  if (!resends) return;
  process.emitWarning(
    'gjallar: the Redis client of an emitter sends messages again when the answer of Redis is lost, so that servers deliver ' +
      `them twice. Create it with { ${option} }.`,
    { type: 'GjallarWarning', code: 'GJALLAR_EMITTER_RESENDS' },
  );
}

/** What a server of NATS accepts by default, in bytes. */
const DEFAULT_MAX_PAYLOAD = 1024 * 1024;

function natsConnection(client: NatsConnection): Connection {
  let number = randomInt(2 ** 32);
  return {
    defaultKey: 'gjallar',
    publish: async (channel, bytes) => {
      const payloads = splitMessage(bytes, number++, client.info?.max_payload ?? DEFAULT_MAX_PAYLOAD);
      if (!payloads) throw new Error('the message is too long for NATS');
      for (const payload of payloads) client.publish(subjectOf(channel), payload);
      await client.flush();
      return undefined;
    },
  };
}
