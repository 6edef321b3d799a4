import type { MachinePart } from '../machines/machine-links.js';
import { kinds } from '../mesh/mesh.js';
import type { MeshLinks } from '../mesh/sub-mesh.js';

/** Another worker, as the relay names it: by its number on this machine, and by its name among several machines. */
export type Peer = number | string;

interface RelayListeners {
  /** Gets each message. May keep the payload, and throw a MalformedMessage. */
  onMessage(from: Peer, payload: Buffer): void;
  /** A worker is gone, or some of its messages were lost. */
  onLeave(id: Peer): void;
  /** The workers whose messages are waited for. */
  inUse(): Iterable<Peer>;
}

/** The links of the relay: the mesh to workers of this machine, and the machine links to all others. */
export class RelayLinks {
  constructor(
    private readonly mesh: MeshLinks,
    private readonly machines: MachinePart | undefined,
    listeners: RelayListeners,
  ) {
    mesh.listenTo(kinds.relay, listeners.onMessage);
    mesh.onLeave(listeners.onLeave);
    machines?.listen(listeners);
  }

  /** The id of this machine; undefined if there is no other one. */
  get machine(): string | undefined {
    return this.machines?.machine;
  }

  /** Whether there may be another worker. */
  get hasOthers(): boolean {
    return this.mesh.members.length > 0 || this.machines?.isUp === true;
  }

  /** Whether a worker can be reached, as far as this one knows. */
  has(peer: Peer): boolean {
    return typeof peer === 'number' ? this.mesh.has(peer) : this.machines?.isUp === true;
  }

  /** Sends to another worker. The payload may not be changed afterwards. */
  send(to: Peer, payload: Uint8Array): void {
    if (typeof to === 'number') this.mesh.send(to, kinds.relay, payload);
    else this.machines?.send(to, payload);
  }
}
