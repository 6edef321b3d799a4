import { queueMicrotask } from '../../base/clock.js';
import { GjallarError } from '../../base/errors.js';
import { emittedHead } from '../wire/hub-frame.js';

/** Above this number of bytes, messages do not wait for the end of the turn. */
const MAX_HELD_BYTES = 1024 * 1024;

/** What became of messages. */
export interface Delivery {
  /**
   * How many workers were subscribed when Redis took the messages; if that differs, the least. It does not say how many of them
   * have received them. 0 means that no server listens: it is not running, or uses another prefix or bus. Undefined if nothing
   * was sent, and with NATS, which does not say it. A node of a Redis Cluster counts its own workers alone.
   */
  readonly subscribers: number | undefined;
}

/** Sends messages in order: all of one turn of the event loop together. */
export class EmitterOutgoing {
  private held: Buffer[] = [];
  private heldBytes = 0;
  /** Resolves when the server has everything that was sent so far. */
  private sent: Promise<unknown> = Promise.resolve();
  private subscribers: number | undefined;
  private failure: { readonly error: unknown; readonly messages: number } | undefined;

  /** @param onError called with each failure; it may do nothing, because `flush` rejects, too */
  constructor(
    private readonly connection: EmitterConnection,
    private readonly channel: string,
    private readonly onError: (error: GjallarError) => void,
  ) {}

  add(message: Buffer): void {
    if (this.held.length === 0) queueMicrotask(() => this.send());
    this.held.push(message);
    this.heldBytes += message.length;
    if (this.heldBytes > MAX_HELD_BYTES) this.send();
  }

  /**
   * Resolves when the server has received everything.
   * @throws GjallarError EMIT_FAILED if something that was sent since the last call was lost
   */
  async flush(): Promise<Delivery> {
    this.send();
    await this.sent;
    const { failure, subscribers } = this;
    this.failure = undefined;
    this.subscribers = undefined;
    if (failure) throw failed(failure);
    return { subscribers };
  }

  private send(): void {
    const { held } = this;
    if (held.length === 0) return;
    this.held = [];
    this.heldBytes = 0;
    const published = this.connection.publish(this.channel, Buffer.concat([emittedHead(), ...held])).then(
      (subscribers) => {
        if (subscribers !== undefined) this.subscribers = Math.min(subscribers, this.subscribers ?? subscribers);
      },
      (error: unknown) => {
        const { messages = 0 } = this.failure ?? {};
        this.failure = { error, messages: messages + held.length };
        this.onError(failed({ error, messages: held.length }));
      },
    );
    this.sent = Promise.all([this.sent, published]);
  }
}

function failed({ error, messages }: { error: unknown; messages: number }): GjallarError {
  const reason = error instanceof Error ? error.message : String(error);
  const lost = messages === 1 ? '1 message of an emitter is' : `${messages} messages of an emitter are`;
  return new GjallarError(
    'EMIT_FAILED',
    `${lost} lost: ${reason}. Check the connection with Redis or NATS, and emit again.`,
  );
}

/** A connection of ioredis or of the package `redis`, to one Redis or to one node of a Redis Cluster. */
export interface RedisConnection {
  publish(channel: string, message: Buffer): Promise<number>;
}

/** What an emitter needs of a connection, as `gjallar-nats` makes it. Messages arrive in the order of the calls. */
export interface EmitterConnection {
  /** What channels begin with unless the emitter is told otherwise: what servers use by default. */
  readonly defaultKey: string;
  /**
   * Resolves when the server has the message, with the number of workers that are subscribed, or undefined if it does not
   * say.
   */
  publish(channel: string, bytes: Buffer): Promise<number | undefined>;
}

/** What such a connection may have besides: `isCluster` a client of ioredis for a cluster, `masters` one of the package `redis`. */
interface MaybeCluster extends RedisConnection {
  readonly isCluster?: boolean;
  readonly masters?: unknown;
  /** Those of ioredis. */
  readonly options?: { readonly autoResendUnfulfilledCommands?: boolean };
}

/** @throws GjallarError BAD_INPUT if the client is none that this function knows */
export function connectionOf(client: RedisConnection | EmitterConnection): EmitterConnection {
  if (typeof client?.publish !== 'function') {
    throw new GjallarError(
      'BAD_INPUT',
      'An emitter needs a connection of ioredis or redis, or natsConnection(client) of gjallar-nats.',
    );
  }
  return 'defaultKey' in client ? client : redisConnection(client as MaybeCluster);
}

function redisConnection(client: MaybeCluster): EmitterConnection {
  if (client.isCluster === true || Array.isArray(client.masters)) {
    throw new GjallarError(
      'BAD_INPUT',
      'A client of a Redis Cluster publishes each message on any node, and so changes their order. Pass an emitter a connection to one ' +
        'node, such as new Redis(url): the node passes the messages on to the others.',
    );
  }
  warnOfResending(client);
  return { defaultKey: 'socket.io', publish: async (channel, bytes) => client.publish(channel, bytes) };
}

/** The client of the package `redis` sends nothing twice, and has none of these options. */
function warnOfResending({ options }: MaybeCluster): void {
  if (options?.autoResendUnfulfilledCommands !== true) return;
  process.emitWarning(
    'gjallar: the Redis client of an emitter sends messages again when the answer of Redis is lost, so that servers deliver ' +
      'them twice. Create it with { autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 }.',
    { type: 'GjallarWarning', code: 'GJALLAR_EMITTER_RESENDS' },
  );
}
