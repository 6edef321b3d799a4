import type { SharedWindow } from '../../../engine/delivery/shared-window.js';
import type { Node } from '../../node.js';
import type { Backplane } from '../backplane.js';
import { FrameAdapter } from './adapter.js';
import { FrameBus } from './bus.js';

/**
 * A backplane of frames between the workers that a node reaches.
 * @param name the value of the option BUS
 * @param part the number of the Socket.IO server within its worker
 */
export function framesBackplane(
  name: string,
  { node, window, part = 0 }: { node: Node; window: SharedWindow; part?: number },
): Backplane {
  const bus = new FrameBus(node, part, window);
  return {
    name,
    factory: (nsp) => new FrameAdapter(nsp, bus),
    ready: async () => {
      await node.busHealth.whenUp();
      await bus.announced();
    },
    health: node.busHealth,
    sent: bus.sent,
    close: () => bus.close(),
  };
}
