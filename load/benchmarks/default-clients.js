import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { cpuMicros } from '../harness/cpu.js';
import { HOST } from '../harness/peer.js';

const generator = fileURLToPath(new URL('../generator/default-clients.js', import.meta.url));
const WARM_UP = 500;
const CLIENTS = 2500;

/**
 * Connects clients with their default options: polling, then WebSocket. The CPU is that of all server processes. A
 * generator that is busy delays the clients, and costs the server nothing.
 */
async function run({ peer, quick }) {
  const counted = quick ? CLIENTS / 5 : CLIENTS;
  const child = fork(generator, [`http://${HOST}:${peer.port}`]);
  const open = async (count) => {
    child.send(count);
    const [answer] = await once(child, 'message');
    return { ...answer, server: await peer.cpu() };
  };
  try {
    const before = await open(WARM_UP);
    const after = await open(counted);
    const failures = after.errors.reduce((sum, [, count]) => sum + count, 0);
    const busiest = (after.cpu - before.cpu) / 1000 / (after.at - before.at);
    return {
      cpuPerConnect: cpuMicros(before.server, after.server) / counted,
      perSecond: (1000 * counted) / (after.at - before.at),
      failures,
      errors: failures,
      generators: { shares: [busiest], busiest, saturated: false },
      generatorCpu: busiest * 100,
    };
  } finally {
    const exit = once(child, 'exit');
    child.kill();
    await exit;
  }
}

const on = (workers, isSticky) => ({ program: 'several-workers', workers, processes: workers, isSticky });

export default {
  about: '2,500 clients with their default options (polling, then WebSocket) connect to several workers',
  peers: {
    'sticky-1': on(1, true),
    'sticky-4': on(4, true),
    'run-1': on(1, false),
    'run-4': on(4, false),
  },
  cells: () => [{ label: 'default clients' }],
  columns: [
    { key: 'cpuPerConnect', title: 'CPU µs/connect', ratio: true },
    { key: 'perSecond', title: 'connects/s', digits: 0 },
    { key: 'failures', title: 'failed', digits: 0 },
    { key: 'generatorCpu', title: 'generator %', digits: 0 },
  ],
  run,
};
