import { STAMP_LENGTH, stamp } from '../clock.js';
import { pace } from '../pace.js';
import { eventFrame } from '../wire.js';

/**
 * Publishes `perSecond` texts of `size` bytes to `room` with the event `event`, the clients taking turns. Each text
 * starts with a stamp. With `atMost`, it stops after so many.
 */
export function publish(clients, { event, room, perSecond, size, atMost = Number.POSITIVE_INFINITY }, counters) {
  const padding = 'x'.repeat(size - STAMP_LENGTH);
  pace(perSecond, () => {
    if (counters.sent >= atMost) return;
    clients[counters.sent++ % clients.length].send(eventFrame(event, { room, text: stamp() + padding }));
  });
  return { event() {} };
}
