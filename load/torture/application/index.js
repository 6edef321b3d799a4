import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../harness/until.js';
import { Hosted } from '../support/hosted.js';
import { progress, randomFrom, shuffled } from '../support/scenario.js';
import { Talkers } from '../support/talkers.js';

export const about = 'an application under gjallar run: workers killed, stopped and reloaded under load';

export const options = {
  'times n': 'how often each fault is injected (20; 1 with --short)',
  'minutes n': 'time limit (60)',
};

const WORKERS = 3;
/** How long it may take until all clients are connected again, in ms. A stopped worker is killed after 10 s. */
const MAX_RECOVERY_MS = 40_000;

const faults = {
  'worker killed': async (hosted, random) => {
    const { pid } = await one(hosted, random);
    process.kill(pid, 'SIGKILL');
    await untilGone(hosted, pid);
  },
  'all workers reloaded': (hosted) => hosted.reload(),
  'worker stopped': async (hosted, random) => {
    const { pid } = await one(hosted, random);
    process.kill(pid, 'SIGSTOP');
    await untilGone(hosted, pid);
  },
};
/** These take too long for the short form. */
const LONG = ['worker stopped'];

export async function run({ short, seed, times = short ? 1 : 20, minutes = 60 }) {
  const random = randomFrom(seed);
  const names = Object.keys(faults).filter((name) => !short || !LONG.includes(name));
  const hosted = await Hosted.start({ workers: WORKERS, environment: { DRAIN_TIMEOUT: short ? '1s' : '3s' } });
  const talkers = new Talkers(hosted.url, short ? 24 : 200, short ? 40 : 300);
  const end = Date.now() + minutes * 60_000;
  const longest = new Map();
  let missing = 0;
  let injected = 0;
  let fewest = Number.POSITIVE_INFINITY;
  try {
    await talkers.untilConnected(MAX_RECOVERY_MS);
    for (let round = 0; round < times && Date.now() < end; round++) {
      for (const name of shuffled(names, random)) {
        progress(`${name}, ${round + 1} of ${times}`);
        talkers.outages.length = 0;
        await faults[name](hosted, random);
        await until(async () => (await hosted.workers()).length === WORKERS, 'not all workers are replaced');
        // Clients notice the end of their connection, and all of them talk for a while.
        await sleep(short ? 300 : 2000);
        if (!(await talkers.untilConnected(MAX_RECOVERY_MS))) missing += talkers.disconnected;
        const { outages } = talkers;
        longest.set(name, Math.max(longest.get(name) ?? 0, ...outages));
        fewest = Math.min(fewest, outages.length);
        injected++;
      }
    }
    await talkers.finish();
  } finally {
    progress('');
    await hosted.stop();
  }
  return [
    { name: 'faults', value: injected, least: 1 },
    { name: 'clients', value: talkers.size },
    { name: 'fewest clients that a fault disconnected', value: fewest, least: 1 },
    { name: 'clients that did not reconnect', value: missing, most: 0 },
    ...[...longest].map(([name, value]) => ({
      name: `${name}: longest outage of a client`,
      value: Math.round(value),
      unit: 'ms',
    })),
    { name: 'messages sent', value: talkers.sent, least: 1 },
    { name: 'deliveries', value: talkers.heard, least: 1 },
    { name: 'lost between clients that stayed connected', value: talkers.lost, most: 0 },
    { name: 'repeated or out of order', value: talkers.repeated, most: 0 },
    { name: 'failed connection attempts', value: talkers.failures },
  ];
}

async function one(hosted, random) {
  const workers = await hosted.workers();
  return workers[Math.floor(random() * workers.length)];
}

function untilGone(hosted, pid) {
  const isGone = async () => {
    const { problems } = await (await fetch(`${hosted.admin}/readyz`)).json();
    return problems.length === 0 && !(await hosted.workers()).some((worker) => worker.pid === pid);
  };
  return until(isGone, 'the worker is not replaced');
}
