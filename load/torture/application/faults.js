import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf } from '../../harness/process/processes.js';
import { until } from '../../harness/until.js';

/** How long it may take until all workers are there again, in ms. A stopped worker is killed after 10 s. */
export const MAX_RECOVERY_MS = 60_000;
/** After this time, a new worker has its copies of the sessions of others, and a changed buddy too, in ms. */
export const COPIED_MS = 400;

/**
 * What can happen to the workers of a server. Each resolves when it is over.
 * @type {Record<string, (server: import('../support/hosted.js').Hosted, random: () => number) => Promise<unknown>>}
 */
export const faults = {
  'oldest killed': async (server) => end((await byAge(server))[0], 'SIGKILL', server),
  'newest killed': async (server) => end((await byAge(server)).at(-1), 'SIGKILL', server),
  'some worker killed': async (server, random) => end(one(await byAge(server), random), 'SIGKILL', server),
  'some worker crashed': async (server, random) => end(one(await byAge(server), random), 'SIGUSR2', server),
  'buddy and then worker killed': async (server, random) => {
    const workers = await byAge(server);
    const at = Math.floor(random() * workers.length);
    await end(workers[(at + 1) % workers.length], 'SIGKILL', server);
    await sleep(COPIED_MS + random() * 300);
    await end(workers[at], 'SIGKILL', server);
  },
  'replacement killed as it starts': async (server, random) => {
    const before = childrenOf(server.primary);
    await end((await byAge(server))[0], 'SIGKILL', server);
    const replacement = await appeared(server, before);
    await sleep(random() * 1000);
    process.kill(replacement, 'SIGKILL');
    await until(() => !childrenOf(server.primary).includes(replacement), 'the replacement does not end');
  },
  reloaded: (server) => server.reload(),
  'stopped for a while': async (server, random) => {
    const [{ pid }] = await byAge(server);
    process.kill(pid, 'SIGSTOP');
    await sleep(500 + random() * 2000);
    process.kill(pid, 'SIGCONT');
  },
  'stopped for good': async (server, random) => end(one(await byAge(server), random), 'SIGSTOP', server),
};

const one = (list, random) => list[Math.floor(random() * list.length)];

async function byAge(server) {
  return (await server.workers()).sort((first, other) => first.id - other.id);
}

/** Resolves when the worker is gone. */
async function end({ pid }, signal, server) {
  process.kill(pid, signal);
  await untilWorkers(server, (workers) => !workers.some((worker) => worker.pid === pid), 'a worker does not end');
}

/** Resolves with the process id of a worker that was not there before. */
async function appeared(server, before) {
  const fresh = () => childrenOf(server.primary).find((pid) => !before.includes(pid));
  await until(() => fresh() !== undefined, 'a worker is not replaced');
  return fresh();
}

export function untilAllWork(server, count) {
  return untilWorkers(server, (workers) => workers.length === count, 'not all workers are replaced');
}

/** Asks for the workers not too often: each answer takes all of them some time. */
function untilWorkers(server, isSo, otherwise) {
  return until(async () => isSo(await server.workers()), otherwise, MAX_RECOVERY_MS, 100);
}
