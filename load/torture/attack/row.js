import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Child } from '../../harness/child.js';
import { cpuOf } from '../../harness/processes.js';
import { tokenFor } from '../fuzz/tokens.js';
import { Service } from '../support/service.js';
import { startRedis } from './redis.js';
import { faultsOf, isNoisy } from './verdict.js';
import { Watch } from './watch.js';

const MB = 1_000_000;
/** The attacker has an address of its own, as the others have: limits of an address are not theirs to share. */
const ATTACKER = '127.0.0.66';
const OTHERS = '127.0.0.2';
/** How long the server is left alone before its idle memory is read, and how long the others are watched afterwards, in ms. */
const REST_MS = 1000;
/** A stop that has not ended by then is made an immediate one, in ms. */
const STOP_PATIENCE = 3000;

const attackerFile = fileURLToPath(new URL('attacker.js', import.meta.url));
const probesFile = fileURLToPath(new URL('probes.js', import.meta.url));

/**
 * Runs one attack against a fresh server.
 * @param {import('./attacks.js').Attack} attack
 * @param {{ name: string, environment: Record<string, string> }} pass the limits that are set
 * @param {{ seconds: number, rate: number }} options
 */
export async function runRow(attack, pass, { seconds, rate }) {
  const redis = pass.isRedis ? await startRedis() : undefined;
  const environment = {
    DRAIN_TIMEOUT: '0',
    ...pass.environment,
    ...attack.environment,
    ...(redis && { REDIS_URL: redis.url }),
  };
  const service = await Service.start(environment);
  const children = [];
  const start = async (file, settings) => {
    const child = await Child.start(null, [file, JSON.stringify({ port: service.port, ...settings })], {
      patience: 60_000,
    });
    children.push(child);
    return child;
  };
  let watch;
  try {
    const [target, other] = service.pids.keys();
    const probes = await start(probesFile, {
      address: OTHERS,
      workers: [target, other],
      auth: await authOf('somebody else', environment),
    });
    const attacker = await start(attackerFile, {
      name: attack.name,
      target,
      other,
      address: ATTACKER,
      auth: await authOf('attacker', environment),
      seconds,
      rate,
    });
    await sleep(REST_MS);
    watch = new Watch(service.primary, redis?.directory ?? service.data, redis?.pid);
    const began = performance.now();
    const cpuBefore = cpuOf(attacker.pid);
    await probes.order('begin');
    const { bytes, connections, refused, cpu } = await attacker.order('attack');
    const share = (cpuOf(attacker.pid) - cpuBefore) / 1000 / (performance.now() - began);
    await attacker.stop();
    await sleep(REST_MS);
    const { echoes, posts, lost, lag, answered } = await probes.order('finish');
    watch.stop();
    const row = {
      attack: attack.name,
      limits: pass.name,
      spent: { bytes, connections, refused, cpu: rounded(cpu, 100) },
      generator: rounded(share, 100),
      server: {
        cpu: rounded(watch.cpu, 100),
        memory: Math.round(watch.growth / MB),
        disk: rounded(watch.diskGrowth / MB, 10),
        deaths: watch.deaths,
        guarded: watch.guarded,
        ...(redis && { redis: Math.round(watch.helperGrowth / MB) }),
      },
      others: { same: echoes[0], other: echoes[1], post: Math.max(...posts), lost, lag, answered },
    };
    const faults = faultsOf(row, attack.bounds);
    return { ...row, ok: faults.length === 0, noisy: isNoisy(row), faults };
  } finally {
    watch?.stop();
    for (const child of children) await child.stop();
    await stop(service);
    await redis?.stop();
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
