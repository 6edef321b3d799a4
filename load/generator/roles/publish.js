import { STAMP_LENGTH, stamp } from '../clock.js';
import { pace } from '../pace.js';
import { eventFrame } from '../wire.js';

/** Publishes `perSecond` texts of `size` bytes to `room`, the clients taking turns. Each text starts with a stamp. */
export function publish(clients, { room, perSecond, size }, counters) {
  const padding = 'x'.repeat(size - STAMP_LENGTH);
  pace(perSecond, () => {
    clients[counters.sent++ % clients.length].send(eventFrame('publish', { room, text: stamp() + padding }));
  });
  return { event() {} };
}
