import { atTime } from '../accounts/identity.js';
import type { ChatSocket } from './protocol.js';

/** Closes connections when their tokens expire. */
export class Expiry {
  private readonly cancels = new Map<ChatSocket, () => void>();

  /** @param expires in ms since 1970; undefined for never */
  set(socket: ChatSocket, expires: number | undefined): void {
    this.forget(socket);
    // A client that treats this disconnect as the end of its token reconnects with a new one.
    if (socket.connected)
      this.cancels.set(
        socket,
        atTime(expires, () => socket.disconnect(true)),
      );
  }

  forget(socket: ChatSocket): void {
    this.cancels.get(socket)?.();
    this.cancels.delete(socket);
  }
}
