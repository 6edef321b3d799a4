import type { Adapter, BroadcastOptions } from 'socket.io-adapter';
import { PacketType } from '../../compat/socket-io-parser.js';

interface EventPacket {
  readonly type: number;
  readonly id?: number;
  readonly data: readonly [string, ...unknown[]];
}

/**
 * Takes the broadcasts of the application to one durable room out of an adapter's way. Volatile and local messages, and
 * those with an acknowledgement, are for the moment, and go on.
 * @param keep gets such a broadcast
 * @param onSeveral called with a durable room that a message names together with others: it is delivered, and not kept
 * @returns what ends it
 */
export function captureBroadcasts(
  adapter: Adapter,
  isDurable: (room: unknown) => room is string,
  keep: (room: string, data: EventPacket['data'], except: string[]) => void,
  onSeveral: (room: string) => void,
): () => void {
  const { broadcast } = adapter;
  adapter.broadcast = (packet: EventPacket, options: BroadcastOptions) => {
    const { rooms, except, flags } = options;
    if (
      rooms.size > 0 &&
      !flags?.local &&
      !flags?.volatile &&
      packet.type === PacketType.EVENT &&
      packet.id === undefined
    ) {
      for (const room of rooms) {
        if (!isDurable(room)) continue;
        if (rooms.size === 1) return keep(room, packet.data, Array.from(except ?? [], String));
        onSeveral(room);
        break;
      }
    }
    return broadcast.call(adapter, packet, options);
  };
  return () => {
    adapter.broadcast = broadcast;
  };
}
