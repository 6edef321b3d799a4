/**
 * A room as workers announce it: 31 bits, so that a room costs four bytes in an announcement whatever its name. Two rooms
 * with the same key cost a message that reaches a worker without members, which ignores it.
 */
export type RoomKey = number;

const PRIME = 0x01000193;
const OFFSET = 0x811c9dc5;
const SEPARATOR = 0x1f;

/** The FNV-1a hash of a namespace and a room in it. */
export function keyOf(nsp: string, room: string): RoomKey {
  const hash = hashed(Math.imul(hashed(OFFSET, nsp) ^ SEPARATOR, PRIME), room);
  return (hash ^ (hash >>> 15)) & 0x7fffffff;
}

function hashed(start: number, text: string): number {
  let hash = start;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), PRIME);
  return hash;
}
