import type { Mesh, MeshLinks, MeshListener } from '../../../../src/cluster/mesh/mesh.js';
import { Envelope } from '../../../../src/cluster/wire/envelope.js';
import { isOfApplication, isOfInterest } from '../../../../src/cluster/wire/types.js';

/** A mesh whose broadcasts arrive late, as those of a worker do that gets no CPU. */
export class LateLinks {
  private readonly late: (() => void)[] = [];
  private isLate = false;

  /** @param sender the worker whose messages are late; all if undefined */
  constructor(private readonly sender?: number) {}

  readonly of = (mesh: Mesh): MeshLinks => ({
    id: mesh.id,
    get members() {
      return mesh.members;
    },
    has: (id) => mesh.has(id),
    send: (to, envelope) => mesh.send(to, envelope),
    flush: () => mesh.flush(),
    on: (listener) => mesh.on(this.delayed(listener)),
    close: () => mesh.close(),
  });

  private delayed(listener: MeshListener): MeshListener {
    return {
      ...listener,
      onMessage: (from, envelope) => {
        const { type } = envelope;
        const isMeant = isOfApplication(type) || isOfInterest(type);
        if (!isMeant || !this.isLate || from !== (this.sender ?? from)) return listener.onMessage?.(from, envelope);
        const kept = Envelope.of(Buffer.from(envelope.whole));
        this.late.push(() => listener.onMessage?.(from, kept));
      },
    };
  }

  /** How many messages are held. */
  get size(): number {
    return this.late.length;
  }

  hold(): void {
    this.isLate = true;
  }

  release(): void {
    this.isLate = false;
    for (const deliver of this.late.splice(0)) deliver();
  }
}
