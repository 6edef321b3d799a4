import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { DURABLE, RedisProcess } from '../../../test/support/redis.js';
import { Child } from '../../harness/process/child.js';
import { machineShare, machineUse } from '../../harness/process/machine.js';
import { cpuOf } from '../../harness/process/processes.js';
import { tokenFor } from '../fuzz/tokens.js';
import { Service } from '../support/service.js';
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
/** How long attackers and probes may take to get ready, in ms. */
const PREPARATION_MS = 60_000;
/** A stop that has not ended by then is made an immediate one, in ms. */
const STOP_PATIENCE = 3000;

const attackerFile = fileURLToPath(new URL('attacker/attacker.js', import.meta.url));
const probesFile = fileURLToPath(new URL('probes/probes.js', import.meta.url));

/**
 * Runs one attack against a fresh server.
 * @param {import('./attacks.js').Attack} attack
 * @param {{ name: string, environment: Record<string, string>, isRedis?: boolean }} pass what the server is set to
 * @param {{ seconds: number, rate: number, sockets?: string }} options `sockets`: `native` or `portable`
 */
export async function runRow(attack, pass, { sockets, ...options }) {
  const redis = pass.isRedis ? await RedisProcess.start(...DURABLE) : undefined;
  const environment = {
    DRAIN_TIMEOUT: '0',
    WORKERS: String(WORKERS),
    // As a new user has it.
    RATE_LIMIT: '',
    MAX_CONNECTIONS_PER_IP: '',
    MAX_BUFFERED: '',
    ...pass.environment,
    ...attack.environment,
    ...(redis && { REDIS_URL: redis.url }),
    ...(sockets && { GJALLAR_SOCKETS: sockets }),
  };
  let service;
  const children = [];
  try {
    service = await start(environment, attack.application);
    const [target, other] = await workersOf(service, attack.application);
    const startChild = async (file, settings) => {
      const given = JSON.stringify({ port: service.port, ...settings });
      const child = await Child.start(null, [file, given], { patience: PREPARATION_MS });
      children.push(child);
      return child;
    };
    const auth = await authOf('somebody else', environment);
    const probes = await startChild(probesFile, { address: OTHERS, workers: [target, other], auth });
    const own = { name: attack.name, target, other, address: ATTACKER, auth: await authOf('attacker', environment) };
    const attacker = await startChild(attackerFile, { ...own, ...options });
    await sleep(REST_MS);
    const measured = await measure({ service, redis, attacker, probes });
    const faults = faultsOf(measured, attack.bounds);
    const verdict = { ok: faults.length === 0, noisy: isNoisy(measured), faults };
    return { attack: attack.name, limits: pass.name, sockets, ...measured, ...verdict };
  } finally {
    for (const child of children) await child.stop();
    if (service) await stop(service);
    await redis?.remove();
  }
}

/** The chat service, or an application under `gjallar run`. */
function start(environment, application) {
  if (!application) return Service.start(environment);
  return Service.start(environment, [], undefined, ['run', application, '--workers', String(WORKERS)]);
}

/** The numbers of the workers, once all of them listen. */
async function workersOf(service, application) {
  // `gjallar run` listens once they are there, and names none of them.
  if (application) return Array.from({ length: WORKERS }, (_, index) => index + 1);
  // The primary may say that it listens before the lines of its workers have come.
  while (service.pids.size < WORKERS) await sleep(10);
  return service.pids.keys();
}

/** Lets the attacker loose. @returns {Promise<import('./verdict.js').Row>} */
async function measure({ service, redis, attacker, probes }) {
  const watch = new Watch(service.primary, redis?.directory ?? service.data, redis?.pid);
  try {
    const before = { at: performance.now(), machine: machineUse(), own: cpuOf(attacker.pid) + cpuOf(probes.pid) };
    await probes.order('begin');
    const { cpu, ...spent } = await attacker.order('attack');
    const seconds = (performance.now() - before.at) / 1000;
    const own = (cpuOf(attacker.pid) + cpuOf(probes.pid) - before.own) / 1e6 + watch.cpu;
    const programs = Math.max(0, machineShare(before.machine, machineUse()) - own / seconds);
    await attacker.stop();
    await sleep(REST_MS);
    const { echoes, posts, ...others } = await probes.order('finish');
    watch.stop();
    return {
      spent: { ...spent, cpu: rounded(cpu, 100) },
      generator: rounded(cpu / seconds, 100),
      programs: rounded(programs, 100),
      server: {
        cpu: rounded(watch.cpu, 100),
        memory: Math.round(watch.growth / MB),
        disk: rounded(watch.diskGrowth / MB, 10),
        deaths: watch.deaths,
        guarded: watch.guarded,
        ...(redis && { redis: Math.round(watch.helperGrowth / MB) }),
      },
      others: { same: echoes[0], other: echoes[1], post: Math.max(...posts), ...others },
    };
  } finally {
    watch.stop();
  }
}

/** Ends the service, the hard way where a worker is stuck. */
async function stop(service) {
  const timer = setTimeout(() => service.stop(), STOP_PATIENCE);
  await service.stop();
  clearTimeout(timer);
}

async function authOf(name, { JWT_SECRET }) {
  return JWT_SECRET ? { token: await tokenFor(JWT_SECRET, name) } : { name };
}

const rounded = (value, parts) => Math.round(value * parts) / parts;
