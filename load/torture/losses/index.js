import { lossesOfDurableRooms } from './durable.js';
import { lossesOn } from './machines.js';

export const about =
  'Redis returns empty, older or shorter, or loses a conversation, falls silent or is down: messages held back, repeated or out of order, and who is told';

export const options = {
  'times n': 'how often each fault is injected, with each length, on one machine and on two (100; 1 with --short)',
  'minutes n': 'time limit (480; 2 with --short)',
};

/** How long Redis is away, in ms. Within 12 s, the machines declare each other gone. */
const DOWNTIMES = [1000, 12_000];

export async function run({ short, seed, times = short ? 1 : 100, minutes = short ? 2 : 480 }) {
  const downtimes = short ? DOWNTIMES.slice(0, 1) : DOWNTIMES;
  const parts = [1, 2].map((machines) =>
    lossesOn({ machines, downtimes, short, seed: seed + machines, times, minutes }),
  );
  return (await Promise.all([...parts, lossesOfDurableRooms({ short, seed: seed + 3, times, minutes })])).flat();
}
