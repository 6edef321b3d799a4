import type { Interest } from './interest/interest.js';
import { keyOf, type RoomKey } from './interest/room-key.js';

/** No namespace has this name, because all of them begin with a slash. */
const NAMESPACE = 'place';

/**
 * Tells the workers which keys of placement have clients where, in the announcements of rooms. A worker announces a key
 * when a proxy sends it a client. The newest arrival shows where the proxy sends the key now, whatever function it computes.
 */
export class KeyArrivals {
  /** Called with a worker where clients of keys have arrived. */
  onArrival: ((worker: string, keys: readonly RoomKey[]) => void) | undefined;

  constructor(private readonly interest: Interest) {}

  /** The key as workers announce it. */
  hashOf(key: string): RoomKey {
    return keyOf(NAMESPACE, nameOf(key));
  }

  /** The first client of a key has come to this worker. */
  enter(key: string): void {
    this.interest.rooms.add(NAMESPACE, nameOf(key));
  }

  /** The proxy sends clients of the key here again, after it has sent some to another worker. */
  repeat(key: string): void {
    this.interest.repeat(this.hashOf(key));
  }

  /** The last client of a key has left. */
  leave(key: string): void {
    this.interest.rooms.remove(NAMESPACE, nameOf(key));
  }

  /** Whether another worker has clients of a key, as far as this one knows. */
  isAt(worker: string, key: RoomKey): boolean {
    return this.interest.peers.get(worker)?.has(key) ?? false;
  }
}

/** Names that look like the ids of sockets are not announced. */
const nameOf = (key: string): string => `key ${key}`;
