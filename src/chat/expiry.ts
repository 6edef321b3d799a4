import { atTime } from '../accounts/identity.js';
import type { ChatSocket } from './protocol.js';

/** Ends connections when their tokens end. */
export class Expiry {
  private readonly cancels = new Map<ChatSocket, () => void>();

  /** @param expires in ms since 1970; undefined for never */
  set(socket: ChatSocket, expires: number | undefined): void {
    this.forget(socket);
    // A client that takes this for the end of its token is right: it comes back with another one.
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
