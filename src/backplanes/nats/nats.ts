import type { Backplane, BackplaneSurroundings } from '../backplane.js';
import { framesBackplane } from '../frames/machines/open.js';
import { NatsPubSub } from './pub-sub.js';

/** Frames between gjallar servers on any machines, over NATS. */
export function natsBackplane(surroundings: BackplaneSurroundings): Backplane {
  const { url, credentials, events } = surroundings;
  return framesBackplane('nats', surroundings, new NatsPubSub({ url, credentials }, events));
}
