import { Histogram } from '../../generator/histogram.js';
import { cpuMicros } from '../../harness/process/cpu.js';
import { HOST } from '../../harness/row/peer.js';
import { shown } from '../shown.js';

const API_KEY = 'benchmark';
const MESSAGES = 100_000;
const PAGE = 50;
const BATCH = 100;
const IN_FLIGHT = 8;

/** Where pages are read: their query, and the offset that the first of their messages has. */
const places = {
  first: { query: 'after=0', offset: 1 },
  middle: { query: 'after=50000', offset: 50_001 },
  last: { query: 'after=99950', offset: 99_951 },
  beforeMiddle: { query: 'before=50001', offset: 49_951 },
  newest: { query: '', offset: 99_951 },
};

/**
 * A room of 100,000 messages, and pages of 50 from anywhere in it, over HTTP, one after the other: the place must make
 * no difference. The places take turns, so that what the machine does otherwise comes to all of them alike.
 */
async function run({ peer, quick }) {
  const address = `http://${HOST}:${peer.port}/api/rooms/archive/messages`;
  const headers = { Authorization: `Bearer ${API_KEY}` };
  await fill(address, headers);
  const rounds = quick ? 200 : 2000;
  const latencies = Object.fromEntries(Object.keys(places).map((place) => [place, new Histogram()]));
  let errors = 0;
  let before;
  for (let round = -rounds / 10; round < rounds; round++) {
    if (round === 0) before = await peer.cpu();
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
    cpuPerPage: cpuMicros(before, await peer.cpu()) / pages,
    errors,
  };
}

/** Publishes in batches, which is the fastest way in. */
async function fill(address, headers) {
  let next = 0;
  const publish = async () => {
    while (next < MESSAGES) {
      const from = next;
      next += BATCH;
      const messages = Array.from({ length: BATCH }, (_, i) => ({ text: `message ${from + i} of some thirty bytes` }));
      const response = await fetch(address, { method: 'POST', headers, body: JSON.stringify({ messages }) });
      if (!response.ok) throw new Error(`the room could not be filled: ${await response.text()}`);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, publish));
}

const service = (more) => ({ program: 'gjallar-nodes', history: true, env: { API_KEY }, ...more });

export default {
  about: 'pages of 50 messages from a room of 100,000, read over HTTP one after the other from one worker',
  peers: { 'gjallar-sqlite': service({}), 'gjallar-redis': service({ redis: true }) },
  cells: () => [{ label: `${shown(MESSAGES)} messages`, messages: MESSAGES, page: PAGE }],
  columns: [
    { key: 'first', title: 'after 0, ms', digits: 2 },
    { key: 'middle', title: 'after 50,000', digits: 2 },
    { key: 'last', title: 'after 99,950', digits: 2 },
    { key: 'beforeMiddle', title: 'before 50,001', digits: 2 },
    { key: 'newest', title: 'newest', digits: 2 },
    { key: 'slowest', title: 'worst p99', digits: 2 },
    { key: 'cpuPerPage', title: 'CPU µs/page', digits: 0 },
  ],
  run,
};
