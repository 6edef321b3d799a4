import type { Room } from 'socket.io-adapter';
import type { PacketType as Type } from 'socket.io-parser';
import type { BroadcastPacket } from '../compat/socket-io.js';
import { PacketType } from '../compat/socket-io-parser.js';
import type { Mark } from './kept/stream.js';
import { isWorkerName } from './offset.js';

/** The packet of an event, as socket.io passes them to the adapter. */
export interface EventPacket extends BroadcastPacket {
  readonly type: Type;
  readonly data: unknown[];
}

/** How broadcasts carry their marks to other workers. */
export interface MarkedFlags {
  readonly kept?: unknown;
  readonly volatile?: boolean;
  readonly local?: boolean;
  readonly compress?: boolean;
}

/** As stock: no volatile packets, and none with an acknowledgement, which belongs to the old connection. */
export function isKept({ type, id }: EventPacket, flags: MarkedFlags): boolean {
  return (type === PacketType.EVENT || type === PacketType.BINARY_EVENT) && id === undefined && !flags.volatile;
}

export function markOf(kept: unknown): Mark | undefined {
  if (!Array.isArray(kept)) return undefined;
  const [sender, number, at, before] = kept as unknown[];
  const isMark = isWorkerName(sender) && Number.isSafeInteger(number) && (number as number) > 0;
  const isTime = (value: unknown) => typeof value === 'number' && value > 0;
  return isMark && isTime(at) && (before === undefined || isTime(before)) ? (kept as unknown as Mark) : undefined;
}

export function textsOf(rooms: Iterable<Room> | undefined): string[] {
  return rooms ? Array.from(rooms, String) : [];
}
