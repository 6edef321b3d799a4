import { setTimeout as sleep } from 'node:timers/promises';
import { cpuShare, machineShare, machineUse } from '../process/machine.js';
import { activityOf } from './fleet.js';
import { helperShares } from './peer.js';
import { GENERATOR_LIMIT } from './verdict.js';

/**
 * Lets the row run for `warmUp` seconds, then measures it for `window` seconds.
 *
 * Server and generators read their clocks and counters themselves, each over an interval of its own that begins and
 * ends within milliseconds of the others'. That is why results are rates: CPU seconds per second of the server over
 * messages per second of the generators, and not sums over an interval that would differ a little.
 */
export async function measure({ peer, fleet, warmUp, window }) {
  await sleep((warmUp + peer.warmUp) * 1000);
  const before = await look(peer, fleet);
  await sleep(window * 500);
  const middle = await fleet.look();
  await sleep(window * 500);
  const after = await look(peer, fleet);

  const processes = after.groups.flatMap((group, g) =>
    group.map(({ core, cpu, at }, i) => {
      const first = before.groups[g][i];
      return { core, share: (cpu - first.cpu) / 1000 / (at - first.at) };
    }),
  );
  const server = cpuShare(before.cpu, after.cpu);
  const generators = processes.reduce((sum, { share }) => sum + share, 0);
  return {
    server,
    helpers: helperShares(before.cpu, after.cpu),
    rss: peer.rss(),
    generators: loadOf(processes),
    others: Math.max(0, machineShare(before.machine, after.machine) - server - generators),
    groups: after.groups.map((group, g) => activityOf(before.groups[g], middle[g], group)),
  };
}

/**
 * What every result says of server and generators: CPU in percent of a core, memory in MiB, and what the verdict goes by.
 * @param {{ server: number, helpers?: Record<string, number>, rss: number, generators: object, others?: number }} measured
 */
export const usageOf = ({ server, helpers, rss, generators, others }) => ({
  server: server * 100,
  redisCpu: helpers?.redis === undefined ? undefined : helpers.redis * 100,
  generatorCpu: generators.busiest * 100,
  rss: rss / 2 ** 20,
  generators,
  others,
});

/** The same where no times are taken from the one generator, so that it spoils nothing if it is busy: never `saturated`. */
export const idleGenerator = (busiest) => ({
  generators: { shares: [busiest], busiest, saturated: false },
  generatorCpu: busiest * 100,
});

async function look(peer, fleet) {
  const machine = machineUse();
  const cpu = peer.cpu();
  return { machine, cpu, groups: await fleet.look() };
}

/** Processes that share a core are saturated together. */
function loadOf(processes) {
  const perCore = new Map();
  for (const { core, share } of processes) {
    const key = core ?? `unpinned ${perCore.size}`;
    perCore.set(key, (perCore.get(key) ?? 0) + share);
  }
  const busiest = Math.max(...perCore.values());
  return { shares: processes.map(({ share }) => share), busiest, saturated: busiest > GENERATOR_LIMIT };
}
