import fc from 'fast-check';
import { soon } from '../../harness/until.js';
import { Members } from '../support/members.js';
import { cleaningUp } from '../support/scenario.js';
import { MAX_SESSION_REST_MS, Service } from '../support/service.js';
import { tokenFor } from '../support/token.js';
import { changes, mutated } from './mutate.js';
import { play } from './play.js';
import { recordings } from './recordings.js';

const ALL = 100_000;
const SHORT = 1_000;
/** Sessions of each recording at a time. */
const LANES = 2;
const SECRET = 'a secret of more than thirty-two bytes';
const API_KEY = 'fuzz-key';
const MAX_PAYLOAD = 100_000;

/** How long it may take until the members have heard everything. */
const MAX_DELAY_MS = 10_000;
const MB = 1_000_000;

export async function run({ short, seed, times = short ? SHORT : ALL }) {
  const resources = new URL('./resources.js', import.meta.url).href;
  const environment = { JWT_SECRET: SECRET, API_KEY, MAX_PAYLOAD: String(MAX_PAYLOAD) };
  const service = await Service.start({ environment, nodeOptions: ['--expose-gc', '--import', resources] });
  const context = { port: service.port, apiKey: API_KEY, token: await tokenFor(SECRET, 'fuzz') };
  const failures = [];
  // What is made once, at the first use, is no leak.
  await playAll({ times: times / 10, seed: seed + 500, context, failures });
  const before = await rest(service);
  const tokens = await Promise.all(['ann', 'bob', 'eve'].map((name) => tokenFor(SECRET, name)));
  const control = new Members(() => service.url, {
    ...{ count: tokens.length, rooms: ['control', 'other'], pause: 20, authOf: (index) => ({ token: tokens[index] }) },
  });
  await control.join();
  const played = await playAll({ times, seed, context, failures });
  const longest = control.takeLongestGap();
  await control.finish(MAX_DELAY_MS);
  control.leave();
  const after = await rest(service, before);
  const { complaints } = service;
  const exits = await service.stop();
  for (const line of [...failures, ...complaints].slice(0, 30)) console.log(`  ! ${line}`);
  const disturbed = control.missing() + control.repeated + control.outOfOrder() + control.returns.length;
  const kept = (name, of, most) => [
    { name: `${name} before`, value: of(before) },
    { name: `${name} after`, value: of(after), most },
  ];
  return [
    { name: 'changed sessions', value: played, least: times },
    { name: 'wrong answers', value: failures.length, most: 0 },
    { name: 'errors in the log', value: complaints.length, most: 0 },
    { name: 'exit code', value: exits ?? -1, most: 0, least: 0 },
    { name: 'sessions left', value: after.clients, most: 0 },
    { name: 'rooms left', value: after.rooms, most: 0 },
    ...kept('descriptors', ({ descriptors }) => descriptors, before.descriptors),
    ...kept('timers', ({ timers }) => timers, before.timers),
    // Compiled code, and what the collector of young objects keeps: the same after a minute as after an hour.
    ...kept('heap in MB', ({ heap }) => Math.round(heap / MB), Math.round(before.heap / MB + 8)),
    { name: 'messages of other clients', value: control.count('acked') },
    { name: 'of them lost, repeated or out of order, and connections lost', value: disturbed, most: 0 },
    { name: 'longest time without an answer to any of them', value: longest, unit: 'ms' },
  ];
}

/** Plays so many changed sessions, and each as it was recorded after that. Resolves with how many it were. */
async function playAll({ times, seed, context, failures }) {
  const lanes = Object.keys(recordings).flatMap((name) => Array(LANES).fill(name));
  const numRuns = Math.ceil(times / lanes.length);
  let played = 0;
  const playOne = (name) => async (list) => {
    await cleaningUp((use) => play(name, { ...context, use }, (steps) => mutated(steps, list)));
    await cleaningUp((use) => play(name, { ...context, use }));
    played++;
  };
  await Promise.all(
    lanes.map(async (name, lane) => {
      const parameters = { seed: seed + lane, numRuns, endOnFailure: true };
      const result = await fc.check(fc.asyncProperty(changes, playOne(name)), parameters);
      const { failed, errorInstance, counterexample, counterexamplePath: path } = result;
      if (!failed) return;
      const changed = JSON.stringify(counterexample).slice(0, 500);
      failures.push(`${name}: ${errorInstance?.message} (seed ${parameters.seed}, path ${path}) after ${changed}`);
    }),
  );
  return played;
}

/** What the service holds once all clients have left, or their heartbeats are over, and nothing changes any more. */
async function rest(service, before = { descriptors: Number.POSITIVE_INFINITY, timers: Number.POSITIVE_INFINITY }) {
  let now;
  const isResting = async () => {
    const last = now;
    // Before anything is asked: the connections that ask are closing yet when the answer is here.
    const { descriptors } = service;
    const { clients, rooms } = await service.totals();
    now = { descriptors, clients, rooms, ...(await service.resources()) };
    const isOver = clients === 0 && rooms === 0 && descriptors <= before.descriptors && now.timers <= before.timers;
    return isOver && last?.descriptors === descriptors && last.timers === now.timers;
  };
  await soon(isResting, MAX_SESSION_REST_MS, 600);
  return now;
}
