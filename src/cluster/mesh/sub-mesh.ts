import { MalformedMessage } from '../../base/errors.js';
import { type Kind, kinds, type Mesh, type MeshListener } from './mesh.js';

/** The links of a mesh, for one of its purposes. */
export type MeshLinks = Pick<Mesh, 'id' | 'members' | 'has' | 'send' | 'broadcast' | 'flush' | 'listenTo' | 'onLeave'>;

/** The number of the part, and the kind of the message. */
const HEADER = 2;

/** The largest number of a part. */
export const MAX_PART = 255;

/**
 * Divides a mesh into numbered parts that do not hear each other, such as for several Socket.IO servers in one process.
 * The part 0 is the mesh itself.
 */
export class MeshParts {
  private readonly listeners = new Map<number, MeshListener>();

  constructor(private readonly mesh: Mesh) {
    mesh.listenTo(kinds.part, (from, payload) => {
      if (payload.length < HEADER) throw new MalformedMessage('a message for a part of the mesh is too short');
      this.listeners.get(payload.readUInt16LE(0))?.(from, payload.subarray(HEADER));
    });
  }

  /** @param part a number from 0 to {@link MAX_PART}, the same on all workers */
  part(part: number): MeshLinks {
    const { mesh, listeners } = this;
    if (part === 0) return mesh;
    const wrap = (kind: Kind, payload: Uint8Array) => Buffer.concat([Buffer.of(part, kind), payload]);
    return {
      id: mesh.id,
      get members() {
        return mesh.members;
      },
      has: (id) => mesh.has(id),
      send: (to, kind, payload) => mesh.send(to, kinds.part, wrap(kind, payload)),
      broadcast: (kind, payload) => mesh.broadcast(kinds.part, wrap(kind, payload)),
      flush: () => mesh.flush(),
      listenTo: (kind, listener) => listeners.set(part + 256 * kind, listener),
      onLeave: (listener) => mesh.onLeave(listener),
    };
  }
}
