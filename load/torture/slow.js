import { setTimeout as sleep } from 'node:timers/promises';
import { cpuShare, readCpu } from '../harness/cpu.js';
import { rssOf } from '../harness/processes.js';
import { Reader } from './slow/reader.js';
import { Service } from './support/service.js';

export const about = 'readers that sleep 200 ms at every read, offered far more than they take';

const API_KEY = 'slow-key';
const ROOM = 'hall';
const LIMIT = 262_144;
const SLEEP = 200;
const OTHERS = 5;
const TEXT = 2000;
const BATCH = 50;
const MB = 1_000_000;
/** What a process may take beyond what waits for its clients: garbage that was not collected yet, mostly. */
const SLACK = 200 * MB;

/** @param {import('./support/scenario.js').Options} options; `times` is how many sleep */
export async function run({ short, times = short ? 20 : 1000, minutes = short ? 0.1 : 2 }) {
  const service = await Service.start({
    API_KEY,
    HISTORY_TTL: '0',
    MAX_BACKPRESSURE: String(LIMIT),
    SLOW_POLICY: 'drop',
  });
  // What fills the system's buffers, some megabytes for each, in a short run too.
  const perSecond = short ? 20 : 5;
  const readers = [];
  try {
    const alone = [];
    for (let i = 0; i < OTHERS; i++)
      readers.push(await Reader.join(service.port, ROOM, 0, (text) => note(alone, text)));
    const offeredAlone = await offer(service, perSecond, minutes * 20_000);
    await untilAll(readers, (reader) => reader.received >= offeredAlone);

    const others = [...readers];
    const delays = [];
    let fenced = 0;
    const onText = (text) => {
      if (text.startsWith('fence')) fenced++;
    };
    const slow = [];
    for (let i = 0; i < times; i++) slow.push(await Reader.join(service.port, ROOM, SLEEP, onText));
    readers.push(...slow);
    alone.target = delays;
    const before = memoryOf(service);
    const pids = [...service.pids.values()];
    const cpuBefore = readCpu(pids);
    let most = before;
    const watch = setInterval(() => {
      most = Math.max(most, memoryOf(service));
    }, 250);
    let offered = await offer(service, perSecond, minutes * 60_000);
    clearInterval(watch);
    const cpu = cpuShare(cpuBefore, readCpu(pids));
    const takenSlowly = slow.reduce((sum, reader) => sum + reader.received, 0);

    // Everybody catches up, and then gets one message that nobody can miss.
    for (const reader of slow) reader.sleep = 0;
    await untilAll(others, (reader) => reader.received >= offeredAlone + offered);
    await untilQuiet(slow);
    await publish(service, ['fence']);
    offered++;
    await untilAll(slow, () => fenced === times);
    const received = slow.reduce((sum, reader) => sum + reader.received, 0);
    const dropped = await droppedOf(service);
    const { complaints } = service;
    const bound = before + times * 2 * LIMIT + SLACK;
    const [p99, p99Alone] = [percentile(delays), percentile(alone)];
    for (const line of complaints.slice(0, 20)) console.log(`  ! ${line}`);
    return [
      { name: 'readers that sleep', value: times },
      { name: 'messages offered to each', value: offered },
      { name: 'taken by each meanwhile, on average', value: Math.round(takenSlowly / times), most: offered / 2 },
      { name: 'messages dropped', value: dropped, least: 1 },
      {
        name: 'neither received nor counted as dropped',
        value: times * offered - received - dropped,
        most: 0,
        least: 0,
      },
      {
        name: 'missed by the others',
        value: sumOf(others, (reader) => offeredAlone + offered - reader.received),
        most: 0,
      },
      { name: 'memory before', value: Math.round(before / MB), unit: 'MB' },
      { name: 'most memory', value: Math.round(most / MB), unit: 'MB', most: Math.round(bound / MB) },
      { name: 'CPU of the workers meanwhile', value: Math.round(cpu * 100), unit: '% of a core' },
      { name: 'delay of the others, p99, alone', value: p99Alone, unit: 'ms' },
      // A short run on a busy machine says nothing about delays.
      { name: 'delay of the others, p99', value: p99, unit: 'ms', ...(short ? {} : { most: 2 * p99Alone }) },
      { name: 'errors in the log', value: complaints.length, most: 0 },
    ];
  } finally {
    for (const reader of readers) reader.close();
    await service.stop();
  }
}

/** Notes how long a message took. */
function note(delays, text) {
  const at = Number(text.slice(0, text.indexOf(' ')));
  if (at) (delays.target ?? delays).push(Date.now() - at);
}

/** Publishes for so long. Resolves with how many messages that were. */
async function offer(service, perSecond, ms) {
  const end = Date.now() + ms;
  let offered = 0;
  for (let next = Date.now(); next < end; next += 1000 / perSecond) {
    await sleep(Math.max(0, next - Date.now()));
    // Each is one of its kind, or the server could not tell which of two was dropped.
    const texts = Array.from({ length: BATCH }, (_, index) => `${Date.now()} ${offered + index} ${'x'.repeat(TEXT)}`);
    await publish(service, texts);
    offered += BATCH;
  }
  return offered;
}

async function publish(service, texts) {
  const response = await fetch(`${service.url}/api/rooms/${ROOM}/messages`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${API_KEY}` },
    body: JSON.stringify({ messages: texts.map((text) => ({ text })) }),
  });
  if (!response.ok) throw new Error(`publishing failed: ${await response.text()}`);
}

async function untilAll(readers, isDone) {
  while (!readers.every(isDone)) {
    if (readers.some(({ isClosed }) => isClosed)) throw new Error('a reader was cut off');
    await sleep(20);
  }
}

/** Resolves when nothing has come to any of them for a while. */
async function untilQuiet(readers) {
  let last = -1;
  for (;;) {
    const received = sumOf(readers, (reader) => reader.received);
    if (received === last) return;
    last = received;
    await sleep(1000);
  }
}

/** What the workers have dropped, as /metrics tells. */
async function droppedOf(service) {
  const text = await (await fetch(`${service.url}/metrics`)).text();
  const rows = [...text.matchAll(/^gjallar_deliveries_skipped_total(?:\{[^}]*\})? (\d+)/gm)];
  return sumOf(rows, ([, count]) => Number(count));
}

/** Resident memory of the workers together, in bytes. */
function memoryOf(service) {
  return sumOf([...service.pids.values()], rssOf);
}

function sumOf(things, numberOf) {
  return things.reduce((sum, thing) => sum + numberOf(thing), 0);
}

function percentile(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? 0;
}
