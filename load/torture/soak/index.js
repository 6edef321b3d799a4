import { setTimeout as sleep } from 'node:timers/promises';
import { randomFrom } from '../support/scenario.js';
import { MAX_SESSION_REST_MS, Service } from '../support/service.js';
import { lives } from './lives.js';

const API_KEY = 'soak-key';
/** How many clients are there at a time. */
const CLIENTS = 60;
const MINUTES = 30;
const SHORT_MINUTES = 0.05;
/** How often the course of the run is shown. */
const SAMPLES = 15;
const MB = 1_000_000;

export async function run({ short, seed, minutes = short ? SHORT_MINUTES : MINUTES, times = CLIENTS }) {
  const resources = new URL('./resources.js', import.meta.url).href;
  const service = await Service.start({ API_KEY }, ['--expose-gc', '--import', resources]);
  const world = {
    port: service.port,
    apiKey: API_KEY,
    random: randomFrom(seed),
    pause: short ? 100 : 800,
    vanishOnPolling: !short,
  };
  const failures = [];
  // What is made once, at the first use, is no leak.
  const warmUp = Math.min(minutes * 60_000, 10_000);
  await churn({ ...world, vanishOnPolling: false }, times, warmUp, failures);
  const before = await rest(service);
  const course = [];
  const finished = await Promise.all([
    churn(world, times, minutes * 60_000, failures),
    short ? undefined : watch(service, minutes * 60_000, course),
  ]);
  const after = await rest(service);
  const { complaints } = service;
  const code = await service.stop();
  for (const line of [...failures, ...complaints].slice(0, 20)) console.log(`  ! ${line}`);
  printCourse([{ at: 'before', ...before }, ...course, { at: 'after', ...after }]);
  return [
    { name: 'minutes', value: minutes },
    { name: 'clients at a time', value: times },
    { name: 'clients that came and went', value: finished[0], least: times },
    { name: 'failures', value: failures.length, most: 0 },
    { name: 'errors in the log', value: complaints.length, most: 0 },
    { name: 'exit code', value: code ?? -1, most: 0, least: 0 },
    { name: 'sessions left', value: after.clients, most: 0 },
    { name: 'rooms left', value: after.rooms, most: 0 },
    { name: 'descriptors before', value: before.descriptors },
    { name: 'descriptors after', value: after.descriptors, most: before.descriptors },
    { name: 'timers before', value: before.timers },
    { name: 'timers after', value: after.timers, most: before.timers },
    { name: 'heap before', value: round(before.heap / MB), unit: 'MB' },
    // Compiled code, and what the collector of young objects keeps: the same after a minute as after an hour.
    { name: 'heap after', value: round(after.heap / MB), unit: 'MB', most: round(before.heap / MB + 8) },
    { name: 'memory before', value: round(before.rss / MB), unit: 'MB' },
    { name: 'memory after', value: round(after.rss / MB), unit: 'MB' },
  ];
}

const round = (value) => Math.round(value * 10) / 10;

/** Keeps so many clients there for so long. Resolves with how many have come and gone when the last has. */
async function churn(world, count, ms, failures) {
  const end = Date.now() + ms;
  let finished = 0;
  const lane = async (number) => {
    await sleep((number / count) * Math.min(1000, ms));
    do {
      const life = lives[Math.floor(world.random() * lives.length)];
      await life(world).catch((error) => failures.push(String(error)));
      finished++;
    } while (Date.now() < end);
  };
  await Promise.all(Array.from({ length: count }, (_, number) => lane(number)));
  return finished;
}

/** What the service holds once all clients have left and nothing changes any more. */
async function rest(service) {
  const patience = Date.now() + MAX_SESSION_REST_MS;
  let last;
  for (;;) {
    const now = await holdingsOf(service);
    const isOver = now.clients === 0 && now.rooms === 0;
    const isSame = last && now.descriptors === last.descriptors && now.timers === last.timers;
    if ((isOver && isSame) || Date.now() > patience) return now;
    last = now;
    await sleep(600);
  }
}

async function holdingsOf(service) {
  // Before anything is asked: the connections that ask are closing yet when the answer is here.
  const { descriptors } = service;
  const { clients, rooms } = await service.totals();
  const { timers, heap, rss } = await service.resources();
  return { clients, rooms, descriptors, timers, heap, rss };
}

async function watch(service, ms, course) {
  const started = Date.now();
  for (let sample = 1; sample <= SAMPLES; sample++) {
    await sleep(started + (sample * ms) / (SAMPLES + 1) - Date.now());
    const minutes = round((Date.now() - started) / 60_000);
    course.push({ at: `${minutes} min`, ...(await holdingsOf(service)) });
  }
}

function printCourse(rows) {
  const line = (cells) => console.log(`  ${cells.map((cell) => String(cell).padStart(12)).join('')}`);
  line(['', 'sessions', 'rooms', 'descriptors', 'timers', 'heap MB', 'memory MB']);
  for (const { at, clients, rooms, descriptors, timers, heap, rss } of rows) {
    line([at, clients, rooms, descriptors, timers, round(heap / MB), round(rss / MB)]);
  }
}
