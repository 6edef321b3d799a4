import type { FrameLinks, FrameListener, Route } from '../links.js';
import type { MeshFrameLinks } from '../mesh-frame-links.js';
import { machineOf } from './machine-frame.js';
import type { MachineFrameLinks } from './machine-frame-links.js';

/** Frames to the workers of this machine over its mesh, and to those of other machines through a server. */
export class AllLinks implements FrameLinks {
  readonly id: string;
  private readonly machine: string;

  constructor(
    private readonly mesh: MeshFrameLinks,
    private readonly machines: MachineFrameLinks,
  ) {
    this.id = mesh.id;
    this.machine = machineOf(mesh.id);
  }

  workers(): Iterable<string> {
    return [...this.mesh.workers(), ...this.machines.workers()];
  }

  routeTo(worker: string): Route {
    return machineOf(worker) === this.machine ? this.mesh.routeTo(worker) : this.machines.routeTo(worker);
  }

  isElsewhere(worker: string): boolean {
    return machineOf(worker) !== this.machine;
  }

  listen(listener: FrameListener): void {
    this.mesh.listen(listener);
    this.machines.listen(listener);
  }

  lose(): void {
    this.machines.lose();
  }
}
