/**
 * State rooms: the newest value of each key, for every client, however slow.
 *
 * ```
 * const quotes: StateRoom<Quote> = createStateRoom(io, 'quotes', { mayJoin: (socket) => socket.data.pays });
 * quotes.set('AAPL', { bid: 187.1, ask: 187.2 });
 * ```
 *
 * `StateMap` of `gjallar/client` is the other end. Without it, a client emits `state:join`, and listens with
 * `socket.on('quotes', (changes, meta) => …)`. `changes` is a list of `[key, value]`, and of `[key]` for what was deleted.
 *
 * It promises:
 *
 * - A member first gets a snapshot, or the changes since the version that it names. Then it gets every change, without a
 *   gap between the two.
 * - Only the newest value of a key is sent. A member that has fallen behind gets the newest value of each key that it
 *   lacks, as fast as it reads. It never gets an older value after a newer one, and state alone never gets it closed as
 *   a slow client.
 * - A member that is behind costs this worker one number, and at most about 100 KB of output.
 * - A value is encoded when it is set, once for all members and workers.
 */
import type { AnyNamespace, AnyServer } from '../../io/any.js';
import { openStateRoom } from './open.js';
import type { StateRoomOptions } from './options.js';
import type { StateRoom } from './state-room.js';

export type { Chunk, StateFormat, StateReader } from './members/format.js';
export type { Joined, JoinOptions, SetOptions, StateRoomOptions } from './options.js';
export { requireRate } from './options.js';
export type { StateChange, StateMeta, StatePatch, StateRoom, StateRoomEvents, StateRoomStats } from './state-room.js';

/**
 * Creates a state room. Call it on every worker with the same name and options. The room ends with its server or namespace.
 *
 * Clients join with the event `state:join`, which the room answers. A server of your own protocol calls `join()` instead.
 * @param of a server of gjallar, whose namespace `/` has the room, or another namespace of it
 * @param name 1 to 128 characters
 * @throws GjallarError BAD_INPUT for options out of range, or if the namespace has a room of this name
 */
// biome-ignore lint/suspicious/noExplicitAny: socket.io's own default
export function createStateRoom<Value = unknown, Data = any>(
  of: AnyServer<Data> | AnyNamespace<Data>,
  name: string,
  options: StateRoomOptions<Data> = {},
): StateRoom<Value> {
  return openStateRoom(of, name, options) as unknown as StateRoom<Value>;
}
