import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf, cpuOf } from '../harness/process/processes.js';
import { columns } from './columns.js';

const WORKERS = 2;
/** How often the processes of a reload are looked at, in ms. */
const POLL_MS = 5;
/** How long the service has run before it reloads, in ms. Node.js 22 has written its compile cache by then. */
const SETTLE_MS = 3000;
const MAX_RELOAD_MS = 60_000;

/** CPU from the fork of a process until it listens: of each worker, and of the process that has started them. */
async function start({ peer }) {
  const [first, ...workers] = peer.pids;
  if (workers.length === 0) return { cpuPerWorker: sum([first]) / 1000 };
  return {
    cpuPerWorker: sum(workers) / workers.length / 1000,
    cpuPrimary: sum([first]) / 1000,
    ...(await reload(first, workers)),
  };
}

/**
 * A reload without clients: CPU of all processes of the service, from the signal until the last of the former workers has
 * ended.
 */
async function reload(primary, former) {
  await sleep(SETTLE_MS);
  const before = sum([primary, ...former]);
  const used = new Map();
  const at = performance.now();
  process.kill(primary, 'SIGHUP');
  for (;;) {
    const workers = childrenOf(primary);
    for (const pid of workers) {
      const cpu = cpuOf(pid);
      // One that has ended meanwhile keeps what it had used at the last look.
      if (!Number.isNaN(cpu)) used.set(pid, cpu);
    }
    if (workers.length === former.length && !workers.some((pid) => former.includes(pid))) break;
    if (performance.now() - at > MAX_RELOAD_MS) throw new Error('the reload did not end');
    await sleep(POLL_MS);
  }
  const after = cpuOf(primary) + [...used.values()].reduce((all, one) => all + one, 0);
  return { cpuReload: (after - before) / 1000, reloadMs: performance.now() - at };
}

const sum = (pids) => pids.reduce((all, pid) => all + cpuOf(pid), 0);

const service = {
  like: 'nodes',
  service: 'gjallar',
  workers: WORKERS,
  bus: 'embedded',
  // New workers replace the former ones as soon as they are ready. Otherwise the reload would mostly be a wait.
  env: { RELOAD_SETTLE: '0' },
};

export default {
  about: `a server starts: one process of stock socket.io, or the chat service with ${WORKERS} workers, which then reloads`,
  peers: { 'socketio-ws': {}, gjallar: service },
  cells: () => [{ label: 'start and reload' }],
  columns: columns('×cpuPerWorker cpuPrimary cpuReload reloadMs'),
  run: start,
};
