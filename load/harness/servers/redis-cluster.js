import { setTimeout as sleep } from 'node:timers/promises';
import { Redis as Client } from 'ioredis';
import { freePort } from '../ports.js';
import { Redis } from './redis.js';

/** The slots of each node. */
const SLOTS = [
  [0, 5460],
  [5461, 10_922],
  [10_923, 16_383],
];

/** A Redis Cluster of three nodes without replicas. */
export async function startRedisCluster() {
  const nodes = [];
  const stop = async () => {
    for (const { redis } of nodes) await redis.stop();
  };
  for (let at = 0; at < SLOTS.length; at++) {
    const busPort = await freePort();
    // By itself it would listen on the port plus 10,000, which may be none.
    const settings = ['--cluster-enabled', 'yes', '--cluster-port', `${busPort}`];
    const redis = await Redis.start({ settings });
    nodes.push({ redis, port: redis.port, busPort });
  }
  await meet(nodes);
  return { url: nodes.map(({ redis }) => redis.url).join(','), stop };
}

async function meet(nodes) {
  const clients = nodes.map(({ port }) => new Client(port, '127.0.0.1'));
  for (const [at, client] of clients.entries()) {
    await client.call('CLUSTER', 'ADDSLOTSRANGE', ...SLOTS[at]);
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', at + 1);
  }
  for (const { port, busPort } of nodes.slice(1)) await clients[0].call('CLUSTER', 'MEET', '127.0.0.1', port, busPort);
  for (const client of clients) {
    while (!(await isWhole(client))) await sleep(50);
    client.disconnect();
  }
}

async function isWhole(client) {
  const info = String(await client.call('CLUSTER', 'INFO'));
  return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${SLOTS.length}`);
}
