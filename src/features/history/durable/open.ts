import type { Namespace, Server } from 'socket.io';
import { GjallarError } from '../../../base/errors.js';
import { featureFigures } from '../../../base/figures.js';
import { settingsOf } from '../../../base/options.js';
import { attempt } from '../../../base/owner.js';
import { reportsTo } from '../../../base/process.js';
import { type AnyNamespace, type AnyServer, namespaceOf } from '../../../io/any.js';
import { StoreHealth } from '../loss/store-health.js';
import { RedisHistoryStore } from '../redis/store.js';
import { SqliteHistoryStore } from '../sqlite/store.js';
import type { HistoryStore } from '../store.js';
import { LocalDurableRooms } from './durable-rooms.js';
import { type DurableRooms, type DurableRoomsOptions, durableOptions, type EventsMap } from './options.js';

const open = new WeakSet<Namespace>();

/**
 * Keeps the messages of some rooms, so that a client that was offline gets what it missed, from any worker and machine:
 *
 * ```
 * const orders = await createDurableRooms(io, {
 *   rooms: 'order:*',
 *   dataDir: './data',
 *   mayJoin: (socket, room) => socket.data.orders.includes(room),
 * });
 * await orders.to('order:7').emit('status', { paid: true });   // resolves once it is kept
 * ```
 *
 * From then on, `io.to('order:7').emit()` is kept, too. The last value of each such event is its position:
 * `{ room, offset, tag }`. `DurableRooms` of `gjallar/client` is the other end.
 *
 * ## Contract
 *
 * - What `emit()` of `to()` has resolved for is kept as safely as the store can, and reaches every member.
 * - All members get the messages of a room in one order, that of their offsets, which have no gaps.
 * - Call it on every worker, before clients connect. The adapter of the namespace must be set before.
 *
 * @param of a server, whose namespace `/` is meant, or a namespace
 * @throws GjallarError BAD_INPUT if options are missing or contradict each other, if `rooms` would match every room, or if
 *   the namespace has durable rooms already; HistoryError if the file cannot be opened
 */
// biome-ignore lint/suspicious/noExplicitAny: socket.io's own default
export function createDurableRooms<Events extends object, Data = any>(
  // biome-ignore lint/suspicious/noExplicitAny: only the events that the server sends matter
  of: Server<any, Events, any, Data> | Namespace<any, Events, any, Data>,
  options: DurableRoomsOptions<Data>,
): Promise<DurableRooms<Events>>;
// biome-ignore lint/suspicious/noExplicitAny: the same
export function createDurableRooms<Events extends object = EventsMap, Data = any>(
  of: AnyServer<Data> | AnyNamespace<Data>,
  options: DurableRoomsOptions<Data>,
): Promise<DurableRooms<Events>>;
export async function createDurableRooms(
  of: AnyServer | AnyNamespace,
  options: DurableRoomsOptions,
): Promise<LocalDurableRooms> {
  const nsp = namespaceOf(of);
  const settings = settingsOf('createDurableRooms()', durableOptions, options);
  const { rooms, store, dataDir, ttlMs, maxMessages, maxBytes, onError } = settings;
  if (rooms === undefined)
    throw new GjallarError('BAD_INPUT', 'Durable rooms need the option rooms, such as "order:*".');
  if ((store === undefined) === (dataDir === undefined)) {
    throw new GjallarError('BAD_INPUT', 'Durable rooms need either a store or a dataDir.');
  }
  if (open.has(nsp)) throw new GjallarError('BAD_INPUT', `The namespace "${nsp.name}" has durable rooms already.`);
  open.add(nsp);
  try {
    const used = store ?? (await SqliteHistoryStore.open({ dataDir: dataDir!, ttlMs, maxMessages, maxBytes }));
    // What it throws must not reach the call of the store that has failed.
    const tell = (error: unknown) => attempt('reporting an error of durable rooms', () => onError?.(error, ''));
    const health = new StoreHealth(used, nameOf(used), 'messages of durable rooms', onError && reportsTo(tell));
    const uncount = featureFigures.add(() => ({ gjallar_durable_up: health.isFailing ? 0 : 1 }));
    return new LocalDurableRooms(nsp, health, { ...settings, rooms }, async () => {
      open.delete(nsp);
      uncount();
      health.close();
      if (!store) await used.close();
    });
  } catch (error) {
    open.delete(nsp);
    throw error;
  }
}

/** What the operator knows a store by. */
function nameOf(store: HistoryStore): string {
  if (store instanceof RedisHistoryStore) return 'Redis';
  return store instanceof SqliteHistoryStore ? 'The file of durable rooms' : 'The store of durable rooms';
}
