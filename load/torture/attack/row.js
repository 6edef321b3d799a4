import { setPriority } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { DURABLE, RedisProcess } from '../../../test/support/redis.js';
import { Child } from '../../harness/process/child.js';
import { machineShare, machineUse } from '../../harness/process/machine.js';
import { cpuOf } from '../../harness/process/processes.js';
import { soon } from '../../harness/until.js';
import { cleaningUp } from '../support/scenario.js';
import { Service } from '../support/service.js';
import { longest, Probe } from './probe.js';
import { faultsOf, isNoisy } from './verdict.js';
import { Watch } from './watch.js';

const MB = 1_000_000;
/** The attacker has an address of its own, as the others have: limits of an address are not theirs to share. */
const ATTACKER = '127.0.0.66';
const OTHERS = '127.0.0.2';
/** How long the server is left alone before its idle memory is read, and how long the others are watched afterwards, in ms. */
const REST_MS = 1000;
/** One that is attacked, and another one. */
const WORKERS = 2;
/** How long the attacker may take to get ready, in ms. */
const PREPARATION_MS = 60_000;
/** What is not answered so long after the attack counts with that time, in ms: a worker that hangs is killed after 10 s. */
const LONGEST_WAIT_MS = 15_000;
const TICK_MS = 10;
/** A stop that has not ended by then is made an immediate one, in ms. */
const STOP_PATIENCE = 3000;

const attackerFile = fileURLToPath(new URL('attacker/attacker.js', import.meta.url));

/**
 * Runs one attack against a fresh server.
 * @param {import('./attacks.js').Attack} attack
 * @param {{ name: string, environment: Record<string, string>, isRedis?: boolean }} pass what the server is set to
 * @param {{ seconds: number, rate: number, sockets?: string }} options `sockets`: `native` or `portable`
 */
export function runRow(attack, pass, { sockets, ...options }) {
  return cleaningUp(async (use) => {
    const redis = pass.isRedis ? use(await RedisProcess.start(...DURABLE), 'remove') : undefined;
    const environment = environmentOf(attack, pass, sockets, redis);
    const run = attack.application && { app: attack.application, args: ['--workers', `${WORKERS}`] };
    const service = await new Service({ environment, ...run }).start();
    use(() => stop(service));
    const { port } = service;
    const [target, other] = await workersOf(service, attack.application);
    const auth = { name: 'somebody else' };
    const probes = [];
    for (const worker of [target, other])
      probes.push(use(await Probe.open({ port, address: OTHERS, worker, auth }), 'leave'));
    const itself = { name: attack.name, address: ATTACKER, auth: { name: 'attacker' } };
    const given = JSON.stringify({ ...itself, port, target, other, ...options });
    const attacker = use(await Child.start(null, [attackerFile, given], { patience: PREPARATION_MS }));
    await sleep(REST_MS);
    const measured = await measure({ service, redis, attacker, probes }, use);
    const faults = faultsOf(measured, attack.bounds);
    const verdict = { ok: faults.length === 0, noisy: isNoisy(measured), faults };
    return { attack: attack.name, limits: pass.name, sockets, ...measured, ...verdict };
  });
}

const environmentOf = (attack, pass, sockets, redis) => ({
  DRAIN_TIMEOUT: '0',
  WORKERS: `${WORKERS}`,
  ...pass.environment,
  ...attack.environment,
  ...(redis && { REDIS_URL: redis.url, GJALLAR_REDIS_URL: redis.url }),
  ...(sockets && { GJALLAR_SOCKETS: sockets }),
});

/** The numbers of the workers, once all of them listen. */
async function workersOf(service, application) {
  const workers = Array.from({ length: WORKERS }, (_, index) => index + 1);
  // `gjallar run` listens once they are there, and names none of them. The chat may say that it listens before their lines have come.
  if (!application) await Promise.all(workers.map((worker) => service.pidOfWorker(worker)));
  return workers;
}

/** Lets the attacker loose. */
async function measure({ service, redis, attacker, probes }, use) {
  const watch = use(new Watch(service.primary, redis?.directory ?? service.data, redis?.pid));
  const lag = use(monitorEventLoopDelay({ resolution: TICK_MS }), 'disable');
  lag.enable();
  // The probes, which are in this process, go ahead of the others.
  prioritize(-5);
  use(() => prioritize(0));
  const before = { at: performance.now(), machine: machineUse(), own: cpuOf(attacker.pid) + cpuOf(process.pid) };
  for (const probe of probes) probe.reset();
  const { cpu, ...spent } = await attacker.order('attack');
  const seconds = (performance.now() - before.at) / 1000;
  const own = (cpuOf(attacker.pid) + cpuOf(process.pid) - before.own) / 1e6 + watch.cpu;
  const programs = Math.max(0, machineShare(before.machine, machineUse()) - own / seconds);
  await attacker.stop();
  await sleep(REST_MS);
  for (const probe of probes) probe.stopAsking();
  await soon(() => probes.every(({ isSettled }) => isSettled), LONGEST_WAIT_MS, TICK_MS);
  watch.stop();
  const { memory, disk, redis: inRedis } = watch.most;
  return {
    spent: { ...spent, cpu: rounded(cpu, 100) },
    programs: rounded(programs, 100),
    server: {
      cpu: rounded(watch.cpu, 100),
      memory: Math.round(memory / MB),
      disk: rounded(disk / MB, 10),
      deaths: watch.deaths,
      ...(redis && { redis: Math.round(inRedis / MB) }),
    },
    others: {
      same: longest(probes[0].echoes),
      other: longest(probes[1].echoes),
      post: Math.max(...probes.map(({ posts }) => longest(posts))),
      answered: probes.map(({ echoes }) => echoes.answered),
      lost: probes.filter(({ isLost }) => isLost).length,
      lag: Math.max(0, Math.round(lag.max / 1e6 - TICK_MS)),
    },
  };
}

function prioritize(niceness) {
  try {
    setPriority(niceness);
  } catch {
    // Only root may. The lag tells whether it mattered.
  }
}

/** Ends the service, the hard way where a worker is stuck. */
async function stop(service) {
  const timer = setTimeout(() => service.stop(), STOP_PATIENCE);
  await service.stop();
  clearTimeout(timer);
}

const rounded = (value, parts) => Math.round(value * parts) / parts;
