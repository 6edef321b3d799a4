import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMicros } from '../harness/process/cpu.js';

const WARM_UP = 2000;
const CLIENTS = 10_000;

/**
 * Connects 10,000 clients, as fast as one generator process can with 100 handshakes in flight. The CPU of the first 2,000,
 * which warm the server up, is not counted. Memory is read after a forced garbage collection and told in two ways: what
 * 10,000 clients added to the empty server, code compiled for them included; and what each of the last 8,000 added.
 */
async function run({ peer, fleet }) {
  const clients = await fleet.group(CLIENTS);

  const memoryEmpty = await settled(peer);
  await clients.open(WARM_UP);
  const memoryBefore = await settled(peer);
  const before = await look(peer, clients);
  await clients.open(CLIENTS - WARM_UP);
  const after = await look(peer, clients);
  const memoryAfter = await settled(peer);

  const counted = CLIENTS - WARM_UP;
  const seconds = (after.generator.at - before.generator.at) / 1000;
  const busiest = (after.generator.cpu - before.generator.cpu) / 1e6 / seconds;
  return {
    cpuPerConnect: cpuMicros(before.cpu, after.cpu) / counted,
    rssPerClient: (memoryAfter.rss - memoryEmpty.rss) / CLIENTS,
    rssPerFurther: (memoryAfter.rss - memoryBefore.rss) / counted,
    heapPerFurther: (memoryAfter.heapUsed - memoryBefore.heapUsed) / counted,
    rssTotal: memoryAfter.rss / 2 ** 20,
    perSecond: counted / seconds,
    // No times are taken from the generator here, so one that is busy spoils nothing: never `saturated`.
    generators: { shares: [busiest], busiest, saturated: false },
    generatorCpu: busiest * 100,
  };
}

/** Memory once the server has come to rest. */
async function settled(peer) {
  await sleep(1000);
  return peer.memory();
}

async function look(peer, clients) {
  const [cpu, [generator]] = await Promise.all([peer.cpu(), clients.look()]);
  return { cpu, generator };
}

export default {
  also: ['ws-cluster', 'gorilla', 'netty', 'tungstenite'],
  about: '10,000 WebSocket clients connect to namespace "/", the first 2,000 of them as warm-up',
  cells: () => [{ label: '10,000 clients' }],
  columns: [
    { key: 'cpuPerConnect', title: 'CPU µs/connect', ratio: true },
    { key: 'rssPerClient', title: 'RSS bytes/client', digits: 0, ratio: true },
    { key: 'rssPerFurther', title: 'RSS, last 8,000', digits: 0, ratio: true },
    { key: 'heapPerFurther', title: 'heap bytes/client', digits: 0 },
    { key: 'rssTotal', title: 'RSS MiB' },
    { key: 'perSecond', title: 'connects/s', digits: 0 },
    { key: 'generatorCpu', title: 'generator %', digits: 0 },
  ],
  run,
};
