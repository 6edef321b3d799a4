import type { Adapter, BroadcastOptions, Room, SocketId } from 'socket.io-adapter';
import { errorCodes } from '../../base/errors.js';
import { NO_ROOM } from '../../base/names.js';
import { warnOnce } from '../../base/warnings.js';
import type { RoomsEngine } from './native-rooms.js';
import { isMember, sizeOf } from './room-sets.js';

/** Names up to this length are bounded by their number. */
const LONG_NAME = 64;
/** What an object counts as: a client may have sent it, and nothing tells its size. */
const OBJECT_BYTES = 65_536;

function bytesOf(room: unknown): number {
  if (typeof room === 'string') return room.length > LONG_NAME ? Buffer.byteLength(room) : 0;
  return typeof room === 'object' && room !== null ? OBJECT_BYTES : 0;
}

/** Bounds the rooms that each socket is in, and those of one call. */
export class RoomBounds {
  /** The bytes of the long names of sockets that have some. */
  private readonly bytes = new Map<SocketId, number>();

  constructor(
    private readonly adapter: Adapter,
    private readonly engine: Pick<RoomsEngine, 'counters' | 'settings'>,
  ) {}

  /** Has methods that take rooms reach no socket if there are too many. */
  install(): void {
    const { adapter } = this;
    const { broadcast, broadcastWithAck, fetchSockets, addSockets, delSockets, disconnectSockets } = adapter;
    const within = (options: BroadcastOptions, further?: Room[]) => this.within(options, further?.length);
    // Other workers deliver with the methods of their class.
    adapter.broadcast = (packet, options) => {
      this.count(options);
      broadcast.call(adapter, packet, within(options));
    };
    adapter.broadcastWithAck = (packet, options, ...then) => {
      this.count(options);
      broadcastWithAck.call(adapter, packet, within(options), ...then);
    };
    adapter.fetchSockets = (options) => fetchSockets.call(adapter, within(options));
    adapter.addSockets = (options, rooms) => addSockets.call(adapter, within(options, rooms), rooms);
    adapter.delSockets = (options, rooms) => delSockets.call(adapter, within(options, rooms), rooms);
    adapter.disconnectSockets = (options, close) => disconnectSockets.call(adapter, within(options), close);
  }

  /** Whether a socket may enter rooms, which then count. */
  enter(id: SocketId, rooms: ReadonlySet<Room>): boolean {
    const { sids } = this.adapter;
    const { maxRoomsPerSocket, maxRoomBytesPerSocket } = this.engine.settings;
    // Its own room is the first.
    if (rooms.size === 1 && rooms.has(id)) return true;
    let number = sizeOf(sids, id);
    let bytes = 0;
    const isFull = number + rooms.size > maxRoomsPerSocket;
    for (const room of rooms) {
      const size = bytesOf(room);
      if ((!isFull && size === 0) || isMember(sids, id, room)) continue;
      number++;
      bytes += size;
    }
    if (isFull && number > maxRoomsPerSocket) return false;
    if (bytes === 0) return true;
    const total = (this.bytes.get(id) ?? 0) + bytes;
    if (total > maxRoomBytesPerSocket) return false;
    this.bytes.set(id, total);
    return true;
  }

  leave(id: SocketId, room: Room): void {
    const before = this.bytes.get(id);
    if (before === undefined || !isMember(this.adapter.sids, id, room)) return;
    const total = before - bytesOf(room);
    if (total > 0) this.bytes.set(id, total);
    else this.bytes.delete(id);
  }

  forget(id: SocketId): void {
    this.bytes.delete(id);
  }

  /** Counts a broadcast. One to a single socket does not count, nor a kept message that each worker delivers to its clients. */
  private count({ rooms, flags }: BroadcastOptions): void {
    const [room] = rooms;
    if (flags?.local) return;
    if (rooms.size !== 1 || !this.adapter.sids.has(room!)) this.engine.counters.broadcasts++;
  }

  /** The call may pass on what a client has sent, so that its author must not get an error. */
  private within(options: BroadcastOptions, further = 0): BroadcastOptions {
    const { rooms, except, flags } = options;
    if (rooms.size + (except?.size ?? 0) + further <= this.engine.settings.maxRoomsPerCall) return options;
    this.engine.counters.tooManyRooms++;
    warnOnce('TOO_MANY_ROOMS_IN_CALL', errorCodes.TOO_MANY_ROOMS_IN_CALL.message, undefined, 'docs/limits.md');
    return { rooms: new Set([NO_ROOM]), flags: { ...flags, local: true } };
  }
}
