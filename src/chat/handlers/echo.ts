import type { ChatSocket } from '../protocol.js';

/** Sends a value back: as the reply where the client asked for one, else as an event. */
export function echo(socket: ChatSocket, value: unknown, reply?: unknown): void {
  // Without a value the acknowledgement comes first, and must not be sent on: socket.io would keep it.
  if (typeof value === 'function') value();
  else if (typeof reply === 'function') reply(value);
  else socket.emit('echo', value);
}
