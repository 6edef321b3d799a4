import type { KeptSession } from '../kept/sessions.js';
import { type PacketMemory, Stream } from '../kept/stream.js';
import type { SessionState } from '../messages.js';

/** A kept session as it is sent to another worker. */
export function sessionState({ direct, ...state }: KeptSession): SessionState {
  const { floor, floorAt, last, lastAt, kept } = direct;
  return { ...state, direct: { floor, floorAt, last, lastAt, packets: kept } };
}

/** A session that another worker has sent. */
export function sessionOf({ direct, ...state }: SessionState, memory: PacketMemory): KeptSession {
  const stream = new Stream(memory);
  stream.prepend(direct.packets, direct.floor, direct.floorAt);
  return { ...state, direct: stream };
}
