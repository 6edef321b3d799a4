import { lossesOfDurableRooms } from './durable.js';
import { lossesOn } from './machines.js';

/** How long Redis is away, in ms. Within 12 s, the machines declare each other gone. */
const DOWNTIMES = [1000, 12_000];

export async function run({ short, seed, times = short ? 1 : 100, minutes = short ? 2 : 480 }) {
  const downtimes = short ? DOWNTIMES.slice(0, 1) : DOWNTIMES;
  const parts = [1, 2].map((machines) =>
    lossesOn({ machines, downtimes, short, seed: seed + machines, times, minutes }),
  );
  return (await Promise.all([...parts, lossesOfDurableRooms({ short, seed: seed + 3, times, minutes })])).flat();
}
