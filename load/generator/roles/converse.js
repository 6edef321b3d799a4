import { STAMP_LENGTH, stamp } from '../clock.js';
import { pace } from '../pace.js';
import { eventFrame } from '../wire.js';
import { subscribe } from './subscribe.js';

/** The room of the client with this number, where rooms have `members` each. */
export const roomOf = (number, members) => `room-${Math.floor(number / members)}`;

/**
 * Rooms whose members publish and subscribe: `perSecond` texts of `size` bytes, to one room after the other. Members take
 * turns so that successive texts come from clients of different rooms, and of different nodes.
 */
export function converse(clients, { event, members, perSecond, size, ...subscription }, counters, latency) {
  const padding = 'x'.repeat(size - STAMP_LENGTH);
  const rooms = Math.floor(clients.length / members);
  pace(perSecond, () => {
    const turn = counters.sent++;
    const room = turn % rooms;
    const number = room * members + ((Math.floor(turn / rooms) + room) % members);
    clients[number].send(eventFrame(event, { room: roomOf(number, members), text: stamp() + padding }));
  });
  return subscribe(clients, subscription, counters, latency);
}
