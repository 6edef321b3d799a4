import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Child } from '../../harness/process/child.js';
import { cpuShare, readCpu } from '../../harness/process/cpu.js';
import { rssOf } from '../../harness/process/processes.js';
import { Service } from '../support/service.js';
import { Reader } from './reader.js';

export const about = 'readers that sleep 200 ms after every read and are sent far more than they can take';

export const options = {
  'times n': 'number of sleeping readers (1,000; 20 with --short)',
  'minutes n': 'length of the measurement with all readers asleep (2; 0.1 with --short)',
};

const PUNCTUAL = fileURLToPath(new URL('punctual.js', import.meta.url));
const API_KEY = 'slow-key';
const ROOM = 'hall';
const LIMIT = 262_144;
const SLEEP = 200;
const OTHERS = 5;
const TEXT = 2000;
const BATCH = 20;
const MB = 1_000_000;
/** What a process may take beyond what waits for its clients: garbage that was not collected yet, mostly. */
const SLACK = 200 * MB;

export async function run({ short, times = short ? 20 : 1000, minutes = short ? 0.1 : 2 }) {
  const service = await Service.start({
    API_KEY,
    HISTORY_TTL: '0',
    MAX_BACKPRESSURE: String(LIMIT),
    SLOW_POLICY: 'drop',
  });
  // What fills the system's buffers, some megabytes for each, in a short run too.
  const perSecond = short ? 20 : 5;
  const slow = [];
  let others;
  try {
    others = await Child.start(null, [PUNCTUAL, JSON.stringify({ port: service.port, room: ROOM, count: OTHERS })]);
    let offered = 0;
    /** Offers for so long, and tells how long it took to the others. */
    const delayOver = async (ms) => {
      offered += await offer(service, perSecond, ms);
      await untilHeard(others, offered);
      return others.order('p99');
    };
    // V8 compiles first.
    await delayOver(minutes * 10_000);
    const p99Alone = await delayOver(minutes * 20_000);

    const offeredBefore = offered;
    let fenced = 0;
    const onText = (text) => {
      if (text.startsWith('fence')) fenced++;
    };
    // At first they read in time: that there are many members takes time too.
    for (let i = 0; i < times; i++) slow.push(await Reader.join(service.port, ROOM, 0, onText));
    const p99Awake = await delayOver(minutes * 20_000);
    await untilQuiet(slow);

    for (const reader of slow) reader.sleep = SLEEP;
    const offeredAwake = offered;
    const takenAwake = sumOf(slow, (reader) => reader.received);
    const before = memoryOf(service);
    let most = before;
    const watch = setInterval(() => {
      most = Math.max(most, memoryOf(service));
    }, 250);
    // The system's buffers take some megabytes per connection before a reader counts as slow.
    const p99Filling = await delayOver(minutes * 10_000);
    const pids = [...service.pids.values()];
    const cpuBefore = readCpu(pids);
    const p99 = await delayOver(minutes * 60_000);
    clearInterval(watch);
    const cpu = cpuShare(cpuBefore, readCpu(pids));
    const offeredAsleep = offered - offeredAwake;
    const takenAsleep = sumOf(slow, (reader) => reader.received) - takenAwake;

    // All readers catch up, and then get one message that marks the end.
    for (const reader of slow) reader.sleep = 0;
    await untilQuiet(slow);
    await publish(service, ['fence']);
    offered++;
    await untilAll(slow, () => fenced === times);
    const received = sumOf(slow, (reader) => reader.received);
    const dropped = await droppedOf(service);
    const { complaints } = service;
    const bound = before + times * 2 * LIMIT + SLACK;
    await untilHeard(others, offered);
    const heard = await others.order('received');
    for (const line of complaints.slice(0, 20)) console.log(`  ! ${line}`);
    return [
      { name: 'readers that sleep', value: times },
      { name: 'messages offered to each sleeping reader', value: offeredAsleep },
      { name: 'taken by each meanwhile, on average', value: Math.round(takenAsleep / times), most: offeredAsleep / 2 },
      { name: 'messages dropped', value: dropped, least: 1 },
      {
        name: 'neither received nor counted as dropped',
        value: times * (offered - offeredBefore) - received - dropped,
        most: 0,
        least: 0,
      },
      {
        name: 'missed by the others, or heard twice',
        value: sumOf(heard, (count) => offered - count),
        most: 0,
        least: 0,
      },
      { name: 'memory before', value: Math.round(before / MB), unit: 'MB' },
      { name: 'most memory', value: Math.round(most / MB), unit: 'MB', most: Math.round(bound / MB) },
      { name: 'CPU of the workers meanwhile', value: Math.round(cpu * 100), unit: '% of a core' },
      { name: 'delay of the others, p99, alone', value: p99Alone, unit: 'ms' },
      { name: 'the same, beside as many readers that are awake', value: p99Awake, unit: 'ms' },
      { name: 'the same, while the buffers of the sleepers fill', value: p99Filling, unit: 'ms' },
      // A short run on a busy machine says nothing about delays.
      { name: 'the same, once they are full', value: p99, unit: 'ms', ...(short ? {} : { most: 2 * p99Awake }) },
      { name: 'errors in the log', value: complaints.length, most: 0 },
    ];
  } finally {
    for (const reader of slow) reader.close();
    await others?.stop();
    await service.stop();
  }
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

/** Resolves when all readers have so many messages. */
async function untilHeard(others, messages) {
  while ((await others.order('received')).some((received) => received < messages)) await sleep(20);
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
  for (;;) {
    const text = await (await fetch(`${service.url}/metrics`)).text();
    const rows = [...text.matchAll(/^gjallar_deliveries_skipped_total(?:\{[^}]*\})? (\d+)/gm)];
    // A busy worker may answer too late, and is then missing.
    if (rows.length >= service.pids.size) return sumOf(rows, ([, count]) => Number(count));
    await sleep(1000);
  }
}

/** Resident memory of the workers together, in bytes. */
function memoryOf(service) {
  return sumOf([...service.pids.values()], rssOf);
}

function sumOf(things, numberOf) {
  return things.reduce((sum, thing) => sum + numberOf(thing), 0);
}
