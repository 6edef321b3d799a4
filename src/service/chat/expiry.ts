import { atTime, type Identity } from '../accounts/identity.js';
import type { ChatSocket } from './protocol.js';

/** The tokens of the connections of this worker. Closes the connections when their tokens expire. */
export class Expiry {
  private readonly live = new Map<ChatSocket, { identity: Identity; cancel: () => void }>();

  /** @param identity what the token of the connection says; undefined for one without a token */
  set(socket: ChatSocket, identity: Identity | undefined): void {
    this.forget(socket);
    if (!identity || !socket.connected) return;
    // A client that treats this disconnect as the end of its token reconnects with a new one.
    this.live.set(socket, { identity, cancel: atTime(identity.expires, () => socket.disconnect(true)) });
  }

  forget(socket: ChatSocket): void {
    this.live.get(socket)?.cancel();
    this.live.delete(socket);
  }

  /** The connections whose tokens match. */
  where(matches: (identity: Identity) => boolean): ChatSocket[] {
    return [...this.live].flatMap(([socket, { identity }]) => (matches(identity) ? [socket] : []));
  }
}
