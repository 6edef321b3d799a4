import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { childrenOf } from '../../harness/process/processes.js';
import { soon, until } from '../../harness/until.js';
import { pick } from '../support/scenario.js';

/** How long it may take until all workers are there again, in ms. A stopped worker is killed after 10 s. */
export const MAX_RECOVERY_MS = 60_000;
/** After this time, the keeper has copies of the sessions of connected clients, in ms. */
export const COPIED_MS = 400;

/** A worker gets a signal. Resolves when it is gone. */
const signalled = (which, signal) => async (server, random) => end(which(await byAge(server), random), signal, server);

/**
 * What can happen to the workers of a server. Each resolves when it is over.
 * @type {Record<string, (server: import('../support/service.js').Service, random: () => number) => Promise<unknown>>}
 */
export const faults = {
  'oldest killed': signalled((workers) => workers[0], 'SIGKILL'),
  'newest killed': signalled((workers) => workers.at(-1), 'SIGKILL'),
  'some worker killed': signalled(pick, 'SIGKILL'),
  'some worker crashed': signalled(pick, 'SIGUSR2'),
  'stopped for good': signalled(pick, 'SIGSTOP'),
  'one worker killed and then another one': async (server, random) => {
    const workers = await byAge(server);
    const at = Math.floor(random() * workers.length);
    await end(workers[(at + 1) % workers.length], 'SIGKILL', server);
    await sleep(COPIED_MS + random() * 300);
    await end(workers[at], 'SIGKILL', server);
  },
  'replacement killed as it starts': async (server, random) => {
    const before = childrenOf(server.primary);
    await end((await byAge(server))[0], 'SIGKILL', server);
    const fresh = () => childrenOf(server.primary).find((pid) => !before.includes(pid));
    const replacement = await until(fresh, 'a worker is not replaced');
    await sleep(random() * 1000);
    process.kill(replacement, 'SIGKILL');
    await until(() => !childrenOf(server.primary).includes(replacement), 'the replacement does not end');
  },
  reloaded: async (server) => {
    const { msg } = await server.reload();
    if (msg !== 'reload finished') throw new Error(msg);
  },
  'stopped for a while': async (server, random) => {
    const [{ pid }] = await byAge(server);
    process.kill(pid, 'SIGSTOP');
    await sleep(500 + random() * 2000);
    process.kill(pid, 'SIGCONT');
  },
};

async function byAge(server) {
  return (await server.workers()).sort((first, other) => first.id - other.id);
}

async function end({ pid }, signal, server) {
  process.kill(pid, signal);
  await untilWorkers(server, (workers) => !workers.some((worker) => worker.pid === pid), 'a worker does not end');
}

export function untilAllWork(server, count) {
  return untilWorkers(server, (workers) => workers.length === count, 'not all workers are replaced');
}

/** Asks for the workers not too often: each answer takes all of them some time. */
function untilWorkers(server, isSo, otherwise) {
  return until(async () => isSo(await server.workers()), otherwise, MAX_RECOVERY_MS, 100);
}

const SETTLE_MS = 1000;
/** How long the workers of an aborted reload may take to end, in ms. */
const MAX_END_MS = 30_000;
const KINDS = ['exit', 'killed', 'crash', 'exception'];

/** Releases that die after they have started, or hang. A reload to one of them must replace no worker. */
export class BadReleases {
  /** What was otherwise, in words. */
  wrong = [];
  #folder = mkdtempSync(join(tmpdir(), 'torture-release-'));
  #file = join(this.#folder, 'release');

  constructor() {
    this.install({ fault: 'none' });
  }

  /** Of the server that is to be reloaded. */
  get environment() {
    const code = fileURLToPath(new URL('release.cjs', import.meta.url));
    return { RELEASE: this.#file, NODE_OPTIONS: `--require "${code}"`, RELOAD_SETTLE: `${SETTLE_MS}ms` };
  }

  /** Faults like those above. One that hangs takes 10 s. */
  get faults() {
    return {
      'bad release': (server, random) => this.#reload(server, random, pick(KINDS, random)),
      'release that hangs': (server, random) => this.#reload(server, random, 'hangs'),
    };
  }

  /** Workers that start from now on run this release: see release.cjs. */
  install(release) {
    writeFileSync(this.#file, JSON.stringify(release));
  }

  async #reload(server, random, fault) {
    // Most die in the time for which they have to live. A busy machine delays the timer.
    const at = random() < 0.1 && fault !== 'hangs' ? undefined : Math.round(random() ** 0.5 * 0.9 * SETTLE_MS);
    const before = await pidsOf(server);
    this.install({ fault, at, onlyOdd: random() < 0.3 });
    const { msg } = await server.reload();
    this.install({ fault: 'none' });
    const areAll = async () => (await server.workers()).length === before.length;
    await soon(areAll, MAX_END_MS, 100);
    const after = await pidsOf(server);
    if (!msg.startsWith('reload aborted') || String(after) !== String(before))
      this.wrong.push(`${fault} at ${at} ms: ${msg}; ${before} became ${after}`);
  }

  remove() {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** The process ids of the workers that respond, in order. */
const pidsOf = async (server) => (await server.workers()).map(({ pid }) => pid).sort((one, other) => one - other);
