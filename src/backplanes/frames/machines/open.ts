import { workerName } from '../../../base/worker-links.js';
import type { Backplane, BackplaneSurroundings } from '../../backplane.js';
import { frameAdapters } from '../adapter.js';
import { GATEWAY_VERSION, linksByVersion } from '../gateway/messages.js';
import type { FrameLinks, FrameListener, Route } from '../links.js';
import { MeshFrameLinks } from '../mesh-frame-links.js';
import { machineOf } from './machine-frame.js';
import { MachineFrameLinks } from './machine-frame-links.js';
import { framesChannel, type PubSub } from './pub-sub.js';

/** Frames to the workers of this machine over its mesh, and to those of other machines through a server. */
class AllLinks implements FrameLinks {
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

/**
 * A backplane of frames between gjallar servers on any machines, through a server. Workers of one machine use its mesh.
 * @param name the value of the option BUS
 */
export function framesBackplane(
  name: string,
  { links, machine, window, prefix }: Pick<BackplaneSurroundings, 'links' | 'machine' | 'window' | 'prefix'>,
  pubSub: PubSub,
): Backplane {
  const { others, ofVersion } = linksByVersion(links, GATEWAY_VERSION);
  const mesh = new MeshFrameLinks(others, (worker) => workerName(worker, machine));
  const machines = new MachineFrameLinks(mesh.id, ofVersion, pubSub, framesChannel(prefix));
  const { factory, bus } = frameAdapters(new AllLinks(mesh, machines), window, pubSub.health.inbox);
  return {
    name,
    factory,
    ready: async () => {
      await pubSub.health.whenUp();
      await bus.announced();
    },
    caughtUp: () => pubSub.caughtUp(),
    traffic: pubSub.health,
    sent: bus.sent,
    retire: () => machines.retire(),
    close: () => {
      bus.close();
      machines.close();
    },
  };
}
