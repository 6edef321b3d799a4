import { kinds, type Mesh, type MeshLinks, type MeshListener } from '../../../../src/cluster/mesh/mesh.js';

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
    send: (to, kind, payload, part) => mesh.send(to, kind, payload, part),
    flush: () => mesh.flush(),
    onLeave: (listener) => mesh.onLeave(listener),
    listenTo: (kind, listener, part) =>
      mesh.listenTo(kind, kind === kinds.bus ? this.delayed(listener) : listener, part),
  });

  private delayed(listener: MeshListener): MeshListener {
    return (from, payload) => {
      const handle = () => listener(from, payload);
      if (this.isLate && from === (this.sender ?? from)) this.late.push(handle);
      else handle();
    };
  }

  hold(): void {
    this.isLate = true;
  }

  release(): void {
    this.isLate = false;
    for (const deliver of this.late.splice(0)) deliver();
  }
}
