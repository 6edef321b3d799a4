/**
 * Publishes to the rooms of gjallar servers from another process, such as a cron job or a worker of a queue:
 *
 * ```
 * import { Redis } from 'ioredis';
 * import { Emitter } from 'gjallar/emitter';
 *
 * const redis = new Redis('redis://localhost', { autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 });
 * const emitter = new Emitter(redis);
 * emitter.to('room').emit('report', { ready: true });
 * await emitter.flush();
 * redis.disconnect();
 * ```
 *
 * ## Contract
 *
 * - The process is not a server: it emits at once, and servers neither count it nor wait for its answers.
 * - The hub of each machine receives each message, and passes it on to all workers. Those without members of the room drop it. What is for
 *   the id of a socket reaches the worker that the id names, and workers with a room of that name.
 * - Messages of one emitter arrive in the order in which they were emitted. The order between messages of an emitter and
 *   of a server is not defined.
 * - Messages are not kept: a server that is cut off from Redis or NATS misses them. `flush()` tells whether Redis or NATS has
 *   received them, and with Redis, how many workers were subscribed then.
 * - Servers do not drop repeated messages, so the client must not send a command again when its answer is lost. ioredis does so
 *   without these options. `flush()` then rejects with EMIT_FAILED, although Redis may have passed the messages on.
 */

import type { GjallarError } from '../../base/errors.js';
import { callback, row, settingsOf, text, value } from '../../base/options.js';
import { Encoder, encodeToBytes } from '../../engine/parser/socket-io-parser.js';
import { framesChannel } from '../backplanes/channels.js';
import { connectionOf, type EmitterConnection, EmitterOutgoing, type RedisConnection } from './connection.js';
import { type EmitterEvents, type EmitterHost, NamespaceEmitter } from './target.js';

export type { Delivery, EmitterConnection, RedisConnection } from './connection.js';
export type { EmitterEvents as EventsMap, EmitterTarget, Room } from './target.js';
export type { NamespaceEmitter };

export interface EmitterOptions {
  /**
   * What the names of the servers' channels begin with: their `REDIS_PREFIX` or `NATS_PREFIX`. With a database of Redis
   * other than 0, servers use `socket.io-<number>` unless REDIS_PREFIX is set, so pass that. With another prefix than
   * theirs, no server receives the messages. @default 'socket.io' with Redis, 'gjallar' with NATS
   */
  readonly key?: string;
  /** The option `parser` of the servers, if they set one. @default Socket.IO's own */
  readonly parser?: { readonly Encoder: new () => { encode(packet: never): unknown[] } };
  /**
   * Called with EMIT_FAILED when messages could not be sent. `flush()` then rejects as well.
   * @default a warning of the process
   */
  readonly onError?: (error: GjallarError) => void;
}

/**
 * Emits to the clients of all gjallar servers on a Redis, a Redis Cluster or NATS. It has the methods of
 * `@socket.io/redis-emitter`, and `flush()`.
 */
export class Emitter<
  EmitEvents extends EmitterEvents = EmitterEvents,
  ServerSideEvents extends EmitterEvents = EmitterEvents,
> extends NamespaceEmitter<EmitEvents, ServerSideEvents> {
  /**
   * @param client a connection of `ioredis` or `redis`, or `natsConnection(client)` of `gjallar-nats`, which the caller keeps and closes. For a
   *   Redis Cluster, pass a connection to one of its nodes, which passes messages on to all.
   * @throws GjallarError BAD_INPUT if `client` is none of these
   */
  constructor(client: RedisConnection | EmitterConnection, options: EmitterOptions = {}) {
    super(surroundingsOf(client, options));
  }
}

const emitterOptions = {
  key: row(text()),
  parser: row(value<NonNullable<EmitterOptions['parser']>>('a parser with Encoder', (given) => 'Encoder' in given)),
  onError: row(callback<NonNullable<EmitterOptions['onError']>>(), ({ message }) =>
    process.emitWarning(`gjallar: ${message}`),
  ),
};

function surroundingsOf(client: RedisConnection | EmitterConnection, options: EmitterOptions): EmitterHost {
  const connection = connectionOf(client);
  const { parser, onError, key = connection.defaultKey } = settingsOf('Emitter', emitterOptions, options);
  return {
    nsp: '/',
    outgoing: new EmitterOutgoing(connection, framesChannel(key), onError),
    encoder: encodeToBytes(parser ? new parser.Encoder() : new Encoder()),
  };
}
