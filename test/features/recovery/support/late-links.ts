import type { WorkerLinks } from '../../../../src/base/worker-links.js';
import { type Kind, kinds, type Mesh } from '../../../../src/cluster/mesh/mesh.js';
import { linksOf } from '../../../../src/host/runtime/backplane.js';

/** Links whose messages arrive late, as those of a worker do that gets no CPU. */
export class LateLinks {
  private readonly late: (() => void)[] = [];
  private isLate = false;

  /**
   * @param kind the purpose whose messages are late
   * @param sender the worker whose messages are; all if undefined
   */
  constructor(
    private readonly kind: Kind = kinds.bus,
    private readonly sender?: number,
  ) {}

  readonly of = (mesh: Mesh, kind: Kind): WorkerLinks => {
    const links = linksOf(mesh, kind);
    if (kind !== this.kind) return links;
    return {
      ...links,
      get members() {
        return mesh.members;
      },
      onMessage: (listener) =>
        links.onMessage((from, payload) => {
          const handle = () => listener(from, payload);
          if (this.isLate && from === (this.sender ?? from)) this.late.push(handle);
          else handle();
        }),
    };
  };

  hold(): void {
    this.isLate = true;
  }

  release(): void {
    this.isLate = false;
    for (const deliver of this.late.splice(0)) deliver();
  }
}
