import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMicros } from '../harness/process/machine.js';
import { idleGenerator } from '../harness/row/measure.js';
import { columns } from './columns.js';

const WARM_UP = 2000;
const CLIENTS = 10_000;

/**
 * Connects 10,000 clients, as fast as one generator process can with 100 handshakes in flight. The CPU of the first 2,000,
 * which warm the server up, is not counted. Memory is read after a forced garbage collection and told in two ways: what
 * 10,000 clients added to the empty server, code compiled for them included; and what each of the last 8,000 added.
 */
async function run({ peer, fleet, cell: { onPolling } }) {
  const clients = await fleet.group(CLIENTS);
  const look = async () => ({ cpu: peer.cpu(), generator: (await clients.look())[0] });

  const memoryEmpty = await settled(peer);
  await clients.open(WARM_UP, { onPolling });
  const memoryBefore = await settled(peer);
  const before = await look();
  await clients.open(CLIENTS - WARM_UP, { onPolling });
  const after = await look();
  const memoryAfter = await settled(peer);

  const counted = CLIENTS - WARM_UP;
  const seconds = (after.generator.at - before.generator.at) / 1000;
  return {
    cpuPerConnect: cpuMicros(before.cpu, after.cpu) / counted,
    rssPerClient: (memoryAfter.rss - memoryEmpty.rss) / CLIENTS,
    rssPerFurther: (memoryAfter.rss - memoryBefore.rss) / counted,
    heapPerFurther: (memoryAfter.heapUsed - memoryBefore.heapUsed) / counted,
    rssTotal: memoryAfter.rss / 2 ** 20,
    perSecond: counted / seconds,
    ...idleGenerator((after.generator.cpu - before.generator.cpu) / 1e6 / seconds),
  };
}

/** Memory once the server has come to rest. */
async function settled(peer) {
  await sleep(1000);
  return peer.memory();
}

export default {
  also: ['gjallar-portable', 'gjallar-express', 'ws-cluster', 'gorilla', 'netty', 'tungstenite'],
  about:
    '10,000 clients connect to namespace "/", on a WebSocket if a cell says no other, the first 2,000 of them as warm-up',
  cells: () => [
    { label: '10,000 clients' },
    { label: '10,000 clients that start on polling and upgrade, as socket.io-client does', onPolling: true },
    { label: '10,000 clients, each server with the flags of V8 that it sets itself', peer: { nodeFlags: [] } },
  ],
  columns: columns('×cpuPerConnect ×rssPerClient ×rssPerFurther heapPerFurther rssTotal perSecond generatorCpu', {
    perSecond: 'connects/s',
  }),
  run,
};
