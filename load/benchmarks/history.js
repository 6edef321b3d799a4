import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Histogram } from '../generator/histogram.js';
import { cpuMicros } from '../harness/process/machine.js';
import { idleGenerator } from '../harness/row/measure.js';
import { HOST } from '../harness/row/peer.js';
import { columns, shown } from './columns.js';
import { cpuPer, measured } from './measured.js';
import { headers, service } from './service.js';

const MESSAGES = 100_000;
const PAGE = 50;
const BATCH = 100;
const IN_FLIGHT = 8;

/** Where pages are read: their title in the table, their query, and the offset that the first of their messages has. */
const places = {
  first: { title: 'after 0, ms', query: 'after=0', offset: 1 },
  middle: { title: 'after 50,000', query: 'after=50000', offset: 50_001 },
  last: { title: 'after 99,950', query: 'after=99950', offset: 99_951 },
  beforeMiddle: { title: 'before 50,001', query: 'before=50001', offset: 49_951 },
  newest: { title: 'newest', query: '', offset: 99_951 },
};

const addressOf = (peer, room) => `http://${HOST}:${peer.port}/api/rooms/${room}/messages`;

/**
 * A room of 100,000 messages, and pages of 50 from anywhere in it, over HTTP, one after the other: the place must make
 * no difference. The places take turns, so that what the machine does otherwise comes to all of them alike.
 */
async function readPages({ peer, quick }) {
  const address = addressOf(peer, 'archive');
  await fill(address, MESSAGES);
  const rounds = quick ? 200 : 2000;
  const latencies = Object.fromEntries(Object.keys(places).map((place) => [place, new Histogram()]));
  let errors = 0;
  let before;
  for (let round = -rounds / 10; round < rounds; round++) {
    if (round === 0) before = peer.cpu();
    for (const [place, { query, offset }] of Object.entries(places)) {
      const start = performance.now();
      const response = await fetch(`${address}?limit=${PAGE}&${query}`, { headers });
      const { messages, complete } = await response.json();
      if (round >= 0) latencies[place].record(performance.now() - start);
      const isRight = complete && messages.length === PAGE && messages.every((one, i) => one.offset === offset + i);
      if (!isRight) errors++;
    }
  }
  const pages = rounds * Object.keys(places).length;
  return {
    ...Object.fromEntries(Object.entries(latencies).map(([place, latency]) => [place, latency.percentile(0.5)])),
    slowest: Math.max(...Object.values(latencies).map((latency) => latency.percentile(0.99))),
    cpuPerPage: cpuMicros(before, peer.cpu()) / pages,
    errors,
  };
}

/** Publishes in batches, which is the fastest way in. */
async function fill(address, count) {
  let next = 0;
  const publish = async () => {
    while (next < count) {
      const from = next;
      next += BATCH;
      const length = Math.min(BATCH, count - from);
      const messages = Array.from({ length }, (_, i) => ({ text: `message ${from + i} of some thirty bytes` }));
      const response = await fetch(address, { method: 'POST', headers, body: JSON.stringify({ messages }) });
      if (!response.ok) throw new Error(`the room could not be filled: ${await response.text()}`);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, publish));
}

export const history = {
  about: 'pages of 50 messages from a room of 100,000, read over HTTP one after the other from one worker',
  peers: { 'gjallar-sqlite': service({ history: true }), 'gjallar-redis': service({ redis: true, history: true }) },
  cells: () => [{ label: `${shown(MESSAGES)} messages`, messages: MESSAGES, page: PAGE }],
  columns: [
    ...Object.entries(places).map(([key, { title }]) => ({ key, title, digits: 2 })),
    ...columns('slowest cpuPerPage'),
  ],
  run: readPages,
};

const USERS = 500;
const ROOM = 'hall';

/** Users that write to each other as fast as they are acknowledged: what one worker can store and deliver. */
const store = measured({
  warmUp: [10, 3],
  window: [20, 5],
  async begin({ peer, fleet }) {
    const users = await fleet.group(USERS);
    await users.open(USERS, { named: true });
    await users.begin('correspond', { size: 44 });
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
      redisCpuPerMessage: redis && (redis * 1e6) / perSecond.acknowledged,
      redisMemoryPerMessage: before && (after.memory - before.memory) / all,
      redisTrafficPerMessage: before && (after.traffic - before.traffic) / all,
    };
  },
});

/** Bytes that Redis holds, and those that it has read and written. */
async function redisUse({ redisUrl }) {
  if (!redisUrl) return undefined;
  const redis = new Redis(redisUrl);
  try {
    const info = await redis.info();
    const field = (name) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)[1]);
    const traffic = field('total_net_input_bytes') + field('total_net_output_bytes');
    return { memory: field('used_memory'), traffic };
  } finally {
    redis.disconnect();
  }
}

/**
 * After an outage: clients connect as fast as one generator can, with 100 handshakes in flight. Then each joins a room, and
 * reads the 50 messages that it has missed. The first half warms the server up.
 */
async function comeBack(row) {
  await fill(addressOf(row.peer, ROOM), PAGE);
  await comeBackOnce(row);
  return comeBackOnce(row);
}

async function comeBackOnce({ peer, fleet, cell: { clients: count } }) {
  const clients = await fleet.group(count);
  const before = peer.cpu();
  const start = performance.now();
  await clients.open(count);
  await clients.join(ROOM);
  await clients.begin('comeBack', { room: ROOM, limit: PAGE });
  while ((await clients.count('acknowledged')) < count) await sleep(20);
  const seconds = (performance.now() - start) / 1000;
  const after = peer.cpu();
  const { redis } = after.helpers;
  const [generator] = await clients.look();
  return {
    clientsPerSecond: count / seconds,
    cpuPerClient: cpuMicros(before, after) / count,
    redisCpuPerClient: redis && cpuMicros(before.helpers.redis, redis) / count,
    errors: await clients.count('errors'),
    ...idleGenerator(generator.cpu / 1e6 / seconds),
  };
}

const unlimited = { MAX_CONNECTIONS_PER_IP: '0' };

/** What an operator needs to choose machines: the chat service on one worker, on either store. */
export const sizing = {
  about:
    'one worker with a history: messages per second and core, what they cost Redis, and clients that all come back',
  peers: {
    'gjallar-kept-sqlite': service({ history: true }, unlimited),
    'gjallar-kept-redis': service({ redis: true, history: true }, unlimited),
  },
  cells: (quick) => {
    const clients = quick ? 1000 : 8000;
    return [
      { label: `${USERS} users, each writes when its last message is acknowledged` },
      { label: `${shown(clients)} clients come back, join a room and read ${PAGE} messages`, clients },
    ];
  },
  columns: columns(
    'perSecond ×perCore cpuPerMessage redisCpuPerMessage redisMemoryPerMessage redisTrafficPerMessage p99 clientsPerSecond ×cpuPerClient redisCpuPerClient generatorCpu',
  ),
  run: (row) => (row.cell.clients ? comeBack(row) : store(row)),
};
