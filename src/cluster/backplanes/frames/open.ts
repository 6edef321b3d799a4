import type { WorkerLinks } from '../../../base/worker-links.js';
import { workerName } from '../../../base/worker-name.js';
import { ownWindow, type SharedWindow } from '../../../engine/delivery/shared-window.js';
import type { Backplane, BackplaneSurroundings } from '../backplane.js';
import { ConnectionHealth } from '../connection-health.js';
import { frameAdapters } from './adapter.js';
import { HubFrameLinks } from './hub/hub-frame-links.js';
import { MeshFrameLinks } from './mesh-frame-links.js';

/**
 * The embedded backplane: connects the workers of one machine without another server.
 * @param window the window of this worker's outbox; by default, one of its own
 */
export function embeddedBackplane(links: WorkerLinks, window: SharedWindow = ownWindow()): Backplane {
  const health = ConnectionHealth.ofNone();
  const { factory, bus } = frameAdapters(new MeshFrameLinks(links), window, health.inbox);
  return {
    name: 'embedded',
    factory,
    ready: async () => void (await bus.announced()),
    health,
    sent: bus.sent,
    close: () => bus.close(),
  };
}

/**
 * A backplane of frames between workers on any machines. Workers of one machine use its mesh, and the hub of the machine connects
 * it with the others.
 * @param name the value of the option BUS
 */
export function framesBackplane(
  name: string,
  { links, machine, window, hub, part = 0 }: Omit<BackplaneSurroundings, 'url' | 'prefix'>,
): Backplane {
  if (!hub) throw new Error('the machine has no hub');
  const { health } = hub;
  const mesh = new MeshFrameLinks(links, (worker) => workerName(worker, machine));
  const { factory, bus } = frameAdapters(new HubFrameLinks(mesh, hub, part), window, health.inbox);
  return {
    name,
    factory,
    ready: async () => {
      await health.whenUp();
      await bus.announced();
    },
    health,
    sent: bus.sent,
    close: () => bus.close(),
  };
}
