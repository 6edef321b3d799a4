import type { WorkerLinks } from '../../base/worker-links.js';
import type { Backplane } from '../backplane.js';
import { Inbox } from '../connection-health.js';
import { frameAdapters } from '../frames/adapter.js';
import { ownWindow, type SharedWindow } from '../frames/links.js';
import { MeshFrameLinks } from '../frames/mesh-frame-links.js';

/**
 * The embedded backplane: connects the workers of one machine without another server.
 * @param window the window of this worker's outbox; by default, one of its own
 */
export function embeddedBackplane(links: WorkerLinks, window: SharedWindow = ownWindow()): Backplane {
  const inbox = new Inbox();
  const { factory, bus } = frameAdapters(new MeshFrameLinks(links), window, inbox);
  return {
    name: 'embedded',
    factory,
    ready: () => bus.announced(),
    sent: bus.sent,
    traffic: {
      ...{ isUp: true, unsent: 0, outages: 0, pendingBytes: 0 },
      get malformed() {
        return inbox.malformed;
      },
    },
    close: () => bus.close(),
  };
}
