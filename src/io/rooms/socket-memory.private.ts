import type { Socket } from 'socket.io';

/**
 * Saves memory that each of socket.io's Sockets takes, and that most never use. It replaces one private field, `acks`, by an
 * object with the same methods. Checked against socket.io 4.6 to 4.8; `test/io/rooms/socket-memory.test.ts` fails if a new
 * version keeps its acknowledgements elsewhere.
 */
export function saveMemory(socket: Socket): void {
  const inside = socket as unknown as { acks: unknown };
  if (inside.acks instanceof Map && inside.acks.size === 0) inside.acks = new MapOnDemand();
  shareTime(socket.handshake);
}

let lastTime = '';

/** Clients of one second share the text of their time. A middleware may have changed or frozen the handshake. */
function shareTime(handshake: Socket['handshake']): void {
  if (handshake?.time === lastTime) Reflect.set(handshake, 'time', lastTime);
  else if (typeof handshake?.time === 'string') lastTime = handshake.time;
}

/** A Map that is created with its first entry. */
class MapOnDemand<Key, Value> implements Map<Key, Value> {
  private map: Map<Key, Value> | undefined = undefined;

  get size(): number {
    return this.map?.size ?? 0;
  }

  get(key: Key): Value | undefined {
    return this.map?.get(key);
  }

  has(key: Key): boolean {
    return this.map?.has(key) ?? false;
  }

  set(key: Key, value: Value): this {
    this.map ??= new Map();
    this.map.set(key, value);
    return this;
  }

  delete(key: Key): boolean {
    return this.map?.delete(key) ?? false;
  }

  clear(): void {
    this.map?.clear();
  }

  forEach(callback: (value: Value, key: Key, map: Map<Key, Value>) => void, self?: unknown): void {
    for (const [key, value] of this) callback.call(self, value, key, this);
  }

  keys(): MapIterator<Key> {
    return this.content.keys();
  }

  values(): MapIterator<Value> {
    return this.content.values();
  }

  entries(): MapIterator<[Key, Value]> {
    return this.content.entries();
  }

  [Symbol.iterator](): MapIterator<[Key, Value]> {
    return this.entries();
  }

  get [Symbol.toStringTag](): string {
    return 'Map';
  }

  private get content(): Map<Key, Value> {
    return this.map ?? new Map();
  }
}
