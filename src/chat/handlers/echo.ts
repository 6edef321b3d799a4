import type { ChatSocket } from '../protocol.js';

/** Sends a value back: as the reply if the client asked for one, otherwise as an event. */
export function echo(socket: ChatSocket, value: unknown, reply?: unknown): void {
  // Without a value, the first argument is the acknowledgement. Emitting it would make socket.io store it.
  if (typeof value === 'function') value();
  else if (typeof reply === 'function') reply(value);
  else socket.emit('echo', value);
}
