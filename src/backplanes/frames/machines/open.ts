import { workerName } from '../../../base/worker-links.js';
import type { Backplane, BackplaneSurroundings } from '../../backplane.js';
import { frameAdapters } from '../adapter.js';
import { GATEWAY_VERSION } from '../gateway/messages.js';
import { linksByVersion } from '../gateway/shared-links.js';
import { MeshFrameLinks } from '../mesh-frame-links.js';
import { AllLinks } from './all-links.js';
import { framesChannel } from './channels.js';
import { MachineFrameLinks } from './machine-frame-links.js';
import type { PubSub } from './pub-sub.js';

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
