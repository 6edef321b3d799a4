import type { Namespace, Server } from 'socket.io';
import { GjallarError } from '../../../base/errors.js';
import { type DurableFigures, durableStores } from '../../../io/rooms/stores.js';
import { StoreHealth } from '../loss/store-health.js';
import { MeasuredHistory } from '../metrics.js';
import { RedisHistoryStore } from '../redis/store.js';
import { SqliteHistoryStore } from '../sqlite/store.js';
import type { HistoryStore } from '../store.js';
import { DurableRooms } from './durable-rooms.js';
import { type DurableRoomsOptions, defaults } from './options.js';

/** Watches the store of durable rooms, and tells the operator when it fails, or has lost messages. */
export class DurableHealth extends StoreHealth {
  /** The store, watched. */
  readonly store: HistoryStore;
  private readonly counts = { failures: 0, outages: 0 };

  constructor(store: HistoryStore) {
    super(store, nameOf(store), 'messages of durable rooms');
    this.store = new MeasuredHistory(store, {
      isTrimmer: () => false,
      onFailure: (...what) => {
        this.counts.failures++;
        if (!this.outages.isInProgress) this.counts.outages++;
        this.outages.failed(...what);
      },
    });
    durableStores.add(this);
  }

  get figures(): DurableFigures {
    return { up: this.outages.isInProgress ? 0 : 1, ...this.counts };
  }

  override close(): void {
    durableStores.remove(this);
    super.close();
  }
}

function nameOf(store: HistoryStore): string {
  if (store instanceof RedisHistoryStore) return 'Redis';
  return store instanceof SqliteHistoryStore ? 'The file of durable rooms' : 'The store of durable rooms';
}

// biome-ignore lint/suspicious/noExplicitAny: socket.io's own types for servers with any events
type AnyServer = Server<any, any, any, any> | Namespace<any, any, any, any>;

const open = new WeakSet<Namespace>();

/**
 * Keeps the messages of some rooms, so that a client that was offline gets what it missed, from any worker and machine:
 *
 * ```
 * const orders = await durableRooms(io, { rooms: ['order:*'], dataDir: './data', mayJoin: (socket, room) => true });
 * await orders.emit('order:7', 'status', { paid: true });   // resolves once it is kept
 * ```
 *
 * From then on, `io.to('order:7').emit()` is kept, too. The last value of each such event is its position:
 * `{ room, epoch, offset }`. `DurableRooms` of `gjallar/client` is the other end.
 *
 * ## Contract
 *
 * - What `emit()` of the result has resolved for is kept as safely as the store can, and reaches every member.
 * - All members get the messages of a room in one order, that of their offsets, which have no gaps.
 * - Call it on every worker, before clients connect. The adapter of the namespace must be set before.
 *
 * @param of a server, whose namespace `/` is meant, or a namespace
 * @throws GjallarError BAD_INPUT if options are missing or contradict each other, if `rooms` would match every room, or if
 *   the namespace has durable rooms already; HistoryError if the file cannot be opened
 */
export async function durableRooms(of: AnyServer, options: DurableRoomsOptions): Promise<DurableRooms> {
  const nsp = ('of' in of ? of.of('/') : of) as Namespace;
  const { store, dataDir, ttlMs } = options;
  if ((store === undefined) === (dataDir === undefined)) {
    throw new GjallarError('BAD_INPUT', 'Durable rooms need either a store or a dataDir.');
  }
  if (open.has(nsp)) throw new GjallarError('BAD_INPUT', `The namespace "${nsp.name}" has durable rooms already.`);
  open.add(nsp);
  const { maxMessages = defaults.maxMessages, maxBytes = defaults.maxBytes } = options;
  const limits = { maxMessages, maxBytes, ...(ttlMs !== undefined && { ttlMs }) };
  try {
    const used = store ?? (await SqliteHistoryStore.open({ dataDir: dataDir!, ...limits }));
    const health = new DurableHealth(used);
    return new DurableRooms(nsp, health, options, async () => {
      open.delete(nsp);
      health.close();
      if (!store) await used.close();
    });
  } catch (error) {
    open.delete(nsp);
    throw error;
  }
}
