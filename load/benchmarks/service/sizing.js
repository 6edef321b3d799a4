import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { cpuMicros } from '../../harness/process/cpu.js';
import { HOST } from '../../harness/row/peer.js';
import { cpuPer, measured } from '../measured.js';
import { shown } from '../shown.js';

const API_KEY = 'benchmark';
const SIZE = 44;
const USERS = 500;
const ROOM = 'hall';
const PAGE = 50;

/** Users that write to each other as fast as they are acknowledged: what one worker can store and deliver. */
const store = measured({
  warmUp: [10, 3],
  window: [20, 5],
  async begin({ peer, fleet }) {
    const users = await fleet.group(USERS);
    await users.open(USERS, { named: true });
    await users.begin('correspond', { size: SIZE });
    return { users, before: await redisUse(peer), acknowledged: await users.count('acknowledged') };
  },
  async figures(window, { peer }, { users, before, acknowledged }) {
    const after = await redisUse(peer);
    const all = (await users.count('acknowledged')) - acknowledged;
    const [{ perSecond }] = window.groups;
    const { redis } = window.helpers;
    return {
      perSecond: perSecond.acknowledged,
      perCore: perSecond.acknowledged / window.server,
      cpuPerMessage: cpuPer(window, perSecond.acknowledged),
      redisCpuPerMessage: redis === undefined ? undefined : (redis * 1e6) / perSecond.acknowledged,
      redisMemoryPerMessage: before && (after.memory - before.memory) / all,
      redisTrafficPerMessage: before && (after.traffic - before.traffic) / all,
    };
  },
});

/**
 * After an outage: clients connect as fast as one generator can, with 100 handshakes in flight. Then each joins a room, and
 * reads the 50 messages that it has missed. The first half warms the server up.
 */
async function comeBack({ peer, fleet, cell }) {
  await fill(peer);
  await round(peer, fleet, cell.clients);
  return round(peer, fleet, cell.clients);
}

async function round(peer, fleet, count) {
  const clients = await fleet.group(count);
  const before = await peer.cpu();
  const start = performance.now();
  await clients.open(count);
  await clients.join(ROOM);
  await clients.begin('comeBack', { room: ROOM, limit: PAGE });
  while ((await clients.count('acknowledged')) < count) await sleep(20);
  const seconds = (performance.now() - start) / 1000;
  const after = await peer.cpu();
  const { redis } = after.helpers;
  const [generator] = await clients.look();
  const busiest = generator.cpu / 1e6 / seconds;
  return {
    clientsPerSecond: count / seconds,
    cpuPerClient: cpuMicros(before, after) / count,
    redisCpuPerClient: redis && cpuMicros(before.helpers.redis, redis) / count,
    errors: await clients.count('errors'),
    // No times are taken from the generator here, so one that is busy spoils nothing: never `saturated`.
    generators: { shares: [busiest], busiest, saturated: false },
    generatorCpu: busiest * 100,
  };
}

async function fill(peer) {
  const messages = Array.from({ length: PAGE }, (_, i) => ({ text: `message ${i} of some thirty bytes` }));
  const response = await fetch(`http://${HOST}:${peer.port}/api/rooms/${ROOM}/messages`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${API_KEY}` },
    body: JSON.stringify({ messages }),
  });
  if (!response.ok) throw new Error(`the room could not be filled: ${await response.text()}`);
}

/** Bytes that Redis holds, and those that it has read and written. */
async function redisUse(peer) {
  const { redisUrl } = peer.child.hello;
  if (!redisUrl) return undefined;
  const redis = new Redis(redisUrl);
  try {
    const info = await redis.info();
    const field = (name) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)[1]);
    return {
      memory: field('used_memory'),
      traffic: field('total_net_input_bytes') + field('total_net_output_bytes'),
    };
  } finally {
    redis.disconnect();
  }
}

const service = (more) => ({ program: 'gjallar-nodes', env: { API_KEY, MAX_CONNECTIONS_PER_IP: '0' }, ...more });

/** What an operator needs to choose machines: the chat service on one worker, on either store. */
export default {
  about:
    'one worker with a history: messages per second and core, what they cost Redis, and clients that all come back',
  peers: {
    'gjallar-kept-sqlite': service({ history: true }),
    'gjallar-kept-redis': service({ redis: true, history: true }),
  },
  cells: (quick) => {
    const clients = quick ? 1000 : 8000;
    return [
      { label: `${USERS} users, each writes when its last message is acknowledged` },
      { label: `${shown(clients)} clients come back, join a room and read ${PAGE} messages`, clients },
    ];
  },
  columns: [
    { key: 'perSecond', title: 'messages/s', digits: 0 },
    { key: 'perCore', title: 'messages/s per core', digits: 0, ratio: true },
    { key: 'cpuPerMessage', title: 'CPU µs/message' },
    { key: 'redisCpuPerMessage', title: 'Redis CPU µs/message' },
    { key: 'redisMemoryPerMessage', title: 'Redis memory, bytes/message', digits: 0 },
    { key: 'redisTrafficPerMessage', title: 'Redis traffic, bytes/message', digits: 0 },
    { key: 'p99', title: 'p99 ms' },
    { key: 'clientsPerSecond', title: 'clients/s', digits: 0 },
    { key: 'cpuPerClient', title: 'CPU µs/client', digits: 0, ratio: true },
    { key: 'redisCpuPerClient', title: 'Redis CPU µs/client', digits: 0 },
    { key: 'generatorCpu', title: 'generator %', digits: 0 },
  ],
  run: (row) => (row.cell.clients ? comeBack(row) : store(row)),
};
