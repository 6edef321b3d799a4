// The others, in a process of their own: a client on the worker that is attacked, and one on another worker.

import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerOrders } from '../../../harness/process/orders.js';
import { Probe } from './probe.js';

/** What is not answered so long after the attack counts with that time, in ms: a worker that hangs is killed after 10 s. */
const LONGEST_WAIT = 15_000;
const TICK_MS = 10;

try {
  setPriority(-5);
} catch {
  // Only root may. The lag tells whether it mattered.
}

const { port, address, workers, auth } = JSON.parse(process.argv[2]);
const probes = [];
for (const worker of workers) probes.push(await Probe.open({ port, address, worker, auth }));

let lag = 0;
let due = performance.now() + TICK_MS;
setInterval(() => {
  const now = performance.now();
  lag = Math.max(lag, now - due);
  due = now + TICK_MS;
}, TICK_MS);

const orders = {
  /** Forgets what was before. */
  begin() {
    lag = 0;
    for (const probe of probes) probe.reset();
  },

  /** Waits for all answers. Resolves with the longest waits in ms, in the order of the workers. */
  async finish() {
    const end = performance.now() + LONGEST_WAIT;
    for (const probe of probes) probe.stopAsking();
    while (!probes.every(({ isSettled }) => isSettled) && performance.now() < end) await sleep(TICK_MS);
    const now = performance.now();
    return {
      echoes: probes.map(({ echoes }) => Math.round(echoes.longest(now))),
      posts: probes.map(({ posts }) => Math.round(posts.longest(now))),
      answered: probes.map(({ echoes }) => echoes.answered),
      lost: probes.filter(({ isLost }) => isLost).length,
      lag: Math.round(lag),
    };
  },
};

answerOrders(orders);
process.send({ ready: true });
