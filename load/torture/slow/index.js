import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Child } from '../../harness/process/child.js';
import { rssOf } from '../../harness/process/processes.js';
import { until } from '../../harness/until.js';
import { Service } from '../support/service.js';
import { Reader } from './reader.js';

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

/** Readers that sleep after every read, beside readers that are awake and must not notice. */
export async function run({ short, times = short ? 20 : 1000, minutes = short ? 1 : 2 }) {
  const environment = { API_KEY, HISTORY_TTL: '0', MAX_BACKPRESSURE: String(LIMIT), SLOW_POLICY: 'close' };
  const service = await Service.start(environment);
  // The system's buffers hold some megabytes of each before a reader counts as slow.
  const perSecond = short ? 40 : 5;
  const slow = [];
  let others;
  let offered = 0;
  /** Offers until something is so, or for so long. Resolves with the delay of the others, in ms. */
  const offer = async (ms, isOver = () => false) => {
    const end = Date.now() + ms;
    for (let next = Date.now(); next < end && !isOver(); next += 1000 / perSecond) {
      await sleep(Math.max(0, next - Date.now()));
      await publish(service, offered);
      offered += BATCH;
    }
    await until(
      async () => (await others.order('received')).every((received) => received >= offered),
      'the others do not receive everything',
    );
    return others.order('p99');
  };
  try {
    others = await Child.start(null, [PUNCTUAL, JSON.stringify({ port: service.port, room: ROOM, count: OTHERS })]);
    // V8 compiles first.
    await offer(minutes * 2000);
    const alone = await offer(minutes * 5000);
    for (let i = 0; i < times; i++) slow.push(await Reader.join(service.port, ROOM, SLEEP, () => {}));
    const before = memoryOf(service);
    let most = before;
    const watch = setInterval(() => {
      most = Math.max(most, memoryOf(service));
    }, 250);
    const areCutOff = () => slow.every(({ isClosed }) => isClosed);
    const beside = await offer(minutes * 60_000, areCutOff);
    clearInterval(watch);
    const heard = await others.order('received');
    const { complaints } = service;
    for (const line of complaints.slice(0, 20)) console.log(`  ! ${line}`);
    const bound = Math.round((before + times * 2 * LIMIT + SLACK) / MB);
    return [
      { name: 'readers that sleep', value: times },
      { name: 'messages offered', value: offered },
      { name: 'sleeping readers disconnected', value: slow.filter(({ isClosed }) => isClosed).length, least: times },
      {
        name: 'missed by the others, or heard twice',
        value: heard.reduce((sum, count) => sum + Math.abs(offered - count), 0),
        most: 0,
      },
      { name: 'memory before', value: Math.round(before / MB), unit: 'MB' },
      { name: 'most memory', value: Math.round(most / MB), unit: 'MB', most: bound },
      { name: 'delay of the others, p99, alone', value: alone, unit: 'ms' },
      { name: 'the same, beside the sleeping readers', value: beside, unit: 'ms' },
      { name: 'errors in the log', value: complaints.length, most: 0 },
    ];
  } finally {
    for (const reader of slow) reader.close();
    await others?.stop();
    await service.stop();
  }
}

async function publish(service, offered) {
  const texts = Array.from({ length: BATCH }, (_, index) => `${Date.now()} ${offered + index} ${'x'.repeat(TEXT)}`);
  const response = await fetch(`${service.url}/api/rooms/${ROOM}/messages`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${API_KEY}` },
    body: JSON.stringify({ messages: texts.map((text) => ({ text })) }),
  });
  if (!response.ok) throw new Error(`publishing failed: ${await response.text()}`);
}

/** Resident memory of the workers together, in bytes. */
const memoryOf = (service) => [...service.pids.values()].reduce((sum, pid) => sum + rssOf(pid), 0);
