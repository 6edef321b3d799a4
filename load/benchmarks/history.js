import { Histogram } from '../generator/histogram.js';
import { cpuMicros } from '../harness/process/machine.js';
import { HOST } from '../harness/row/peer.js';
import { columns, shown } from './columns.js';
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

/**
 * A room of 100,000 messages, and pages of 50 from anywhere in it, over HTTP, one after the other: the place must make
 * no difference. The places take turns, so that what the machine does otherwise comes to all of them alike.
 */
async function readPages({ peer, quick }) {
  const address = `http://${HOST}:${peer.port}/api/rooms/archive/messages`;
  await fill(address);
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
async function fill(address) {
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

export default {
  about: 'pages of 50 messages from a room of 100,000, read over HTTP one after the other from one worker',
  peers: { 'gjallar-sqlite': service({ history: true }), 'gjallar-redis': service({ redis: true, history: true }) },
  cells: () => [{ label: `${shown(MESSAGES)} messages`, messages: MESSAGES, page: PAGE }],
  columns: [
    ...Object.entries(places).map(([key, { title }]) => ({ key, title, digits: 2 })),
    ...columns('slowest cpuPerPage'),
  ],
  run: readPages,
};
