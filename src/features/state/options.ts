import type { Cluster, Redis } from 'ioredis';
import { GjallarError } from '../../base/errors.js';
import {
  callback,
  flag,
  integer,
  number,
  type OptionKind,
  oneOf,
  type Row,
  settingsOf as readSettings,
  row,
  text,
  type Values,
} from '../../base/options.js';
import { thisProcess } from '../../base/process.js';
import { redisServer } from '../../cluster/backplanes/redis/address.js';
import type { AnySocket } from '../../io/any.js';

/** The options of a state room. `Data` is the type of `socket.data`. */
// biome-ignore lint/suspicious/noExplicitAny: socket.io's own default
export interface StateRoomOptions<Data = any> {
  /**
   * Whether a client may join by itself, as `StateMap` of `gjallar/client` does. Otherwise, it gets ROOM_FORBIDDEN.
   * @default only the application lets clients join
   */
  mayJoin?: (socket: AnySocket<Data>) => boolean | Promise<boolean>;
  /**
   * How many updates a second each client gets at most, from 0.01 to 1,000. A client may ask for fewer.
   * @default as many as it reads
   */
  maxRate?: number;
  /** The event that clients receive: 1 to 256 characters. @default the name of the room */
  event?: string;
  /**
   * Whether the room answers `state:join` and `state:leave`. With `false`, an application with a protocol of its own calls
   * `join()`, `joinReader()` and `leave()`. @default true
   */
  answersClients?: boolean;
  /** How many keys the room may have, from 1. Beyond it, `set()` throws STATE_FULL for a new key. @default 10,000 */
  maxKeys?: number;
  /**
   * How many bytes all keys and their encoded values may have together, from 1. Beyond it, `set()` throws STATE_FULL.
   * @default 64,000,000
   */
  maxBytes?: number;
  /**
   * `redis` keeps the room in Redis too, where it outlives all servers.
   *
   * The machine on which a key is changed also writes it to Redis, in batches, a few milliseconds later. A server that starts
   * reads the room from Redis before it serves the first member, for at most 5 s. While Redis is down, only that
   * reading and writing waits; members get all changes.
   * @default only in the memory of the servers
   */
  store?: 'redis';
  /**
   * The Redis of `store`: a URL, the URLs of several nodes of a Redis Cluster separated by commas, or a client of
   * ioredis. The application closes such a client and listens to its errors. Create it with `enableOfflineQueue:
   * false`. @default REDIS_URL in the chat service, and GJALLAR_REDIS_URL under `gjallar run`; there is none otherwise
   */
  redis?: string | Redis | Cluster;
}

/** How a key is set. */
export interface SetOptions {
  /**
   * Time in ms after which the key is deleted, from 1 to 31,536,000,000. The next `set()` without it removes it, and `patch()`
   * keeps it. @default the key stays
   */
  ttl?: number | undefined;
  /**
   * Whether the key goes with this worker: it is deleted when the worker closes the room, ends or is killed, and is not on other machines
   * while they cannot reach this one. The next `set()` without it ends that, also on another worker; a `patch()` makes the key
   * that of its worker. A room with a store has no such keys. @default the key stays
   */
  owned?: boolean | undefined;
}

/** How a client joins. */
export interface JoinOptions {
  /**
   * `meta.version` of the last message that the client has. With anything but such a version, the client gets a
   * snapshot.
   */
  version?: unknown;
  /**
   * How many updates a second the client gets at most, from 0.01 to 1,000. Other values get the answer BAD_INPUT.
   * @default as many as it reads
   */
  maxRate?: number | undefined;
}

const MIN_RATE = 0.01;
const MAX_RATE = 1000;

/** @throws GjallarError BAD_INPUT for what is no `maxRate` */
export function requireRate(value: unknown): asserts value is number | undefined {
  if (value === undefined || (typeof value === 'number' && value >= MIN_RATE && value <= MAX_RATE)) return;
  throw new GjallarError('BAD_INPUT', `maxRate must be a number from ${MIN_RATE} to ${MAX_RATE}, in updates a second.`);
}

/** What `join()` returns: an answer for the client. */
export type Joined =
  | {
      ok: true;
      /** The event of the changes. */
      event: string;
      /** How many keys the room has. */
      keys: number;
    }
  | {
      ok: false;
      /** STATE_BUSY while 100,000 members of the worker are behind; BAD_INPUT for a `maxRate` out of range, or a closed room. */
      code: string;
      message: string;
    };

/** Where a room is stored. */
export interface StoreSettings {
  readonly redis: string | Redis | Cluster;
  readonly keyPrefix: string;
}

/** What {@link StateRoomOptions} accept. */
const stateOptions = {
  mayJoin: row(callback<NonNullable<StateRoomOptions['mayJoin']>>()),
  maxRate: row(number(MIN_RATE, MAX_RATE, 'updates a second')),
  event: row(name(256)),
  answersClients: row(flag, true),
  maxKeys: row(integer(1), 10_000),
  maxBytes: row(integer(1, undefined, 'bytes'), 64_000_000),
  store: row(oneOf(['redis'])),
  redis: row(redisServer),
} satisfies { readonly [K in keyof StateRoomOptions]-?: Row };

export type StateRoomSettings = Omit<Values<typeof stateOptions>, 'store' | 'redis'> & {
  readonly event: string;
  readonly store: StoreSettings | undefined;
};

/** In UTF-16 characters. An event may have the name of a room with something before it. */
function name(longest: number): OptionKind<string> {
  return text(`1 to ${longest} characters`, (given) => given.length > 0 && given.length <= longest);
}

const roomName = name(128);

/** @throws GjallarError BAD_INPUT */
export function stateSettingsOf(room: string, options: StateRoomOptions): StateRoomSettings {
  if (roomName.read(room) === undefined) {
    throw new GjallarError('BAD_INPUT', `The name of a state room must be ${roomName.accepts}.`);
  }
  const { store, redis, event = room, ...settings } = readSettings('createStateRoom()', stateOptions, options);
  return { ...settings, event, store: store && storeOf(redis) };
}

const DEFAULT_PREFIX = 'gjallar:';

function storeOf(given: StoreSettings['redis'] | undefined): StoreSettings {
  const { stateStore } = thisProcess;
  const redis = given ?? stateStore?.redisUrl;
  if (redis) return { redis, keyPrefix: stateStore?.keyPrefix ?? DEFAULT_PREFIX };
  throw new GjallarError(
    'BAD_INPUT',
    'A state room with store: "redis" needs a Redis. Pass a URL such as redis://localhost:6379 or a client of ioredis as ' +
      'the option redis, or set GJALLAR_REDIS_URL for "gjallar run".',
  );
}
