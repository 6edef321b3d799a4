import { readdirSync } from 'node:fs';
import fc from 'fast-check';
import { soon } from '../../harness/until.js';
import { Members } from '../support/members.js';
import { cleaningUp } from '../support/scenario.js';
import { MAX_SESSION_REST_MS, Service } from '../support/service.js';
import { runCorpus } from './corpus.js';
import * as api from './families/api.js';
import * as bytes from './families/bytes.js';
import * as connects from './families/connects.js';
import * as events from './families/events.js';
import * as frames from './families/frames.js';
import * as handshakes from './families/handshakes.js';
import * as packets from './families/packets.js';
import * as plain from './families/plain.js';
import { shown } from './mismatch.js';
import { badTokens, tokenFor } from './tokens.js';

const families = { events, connects, packets, handshakes, api, frames, plain, bytes };
const ALL = 1_000_000;
const SHORT = 4_000;
/** Each lane sends one batch at a time. */
const LANES = 12;
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
  const context = await contextFor(service);
  const failures = [];
  // What is made once, at the first use, is no leak.
  const sent = { corpus: await runCorpus(context, failures) };
  await runFamilies({ times: times / 10, seed: seed + 500, context, sent, failures });
  const before = await rest(service);
  const tokens = await Promise.all(['ann', 'bob', 'eve'].map((name) => tokenFor(SECRET, name)));
  const control = new Members(() => service.url, {
    ...{ count: tokens.length, rooms: ['control', 'other'], pause: 20, authOf: (index) => ({ token: tokens[index] }) },
  });
  await control.join();
  await runFamilies({ times, seed, context, sent, failures });
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
    { name: 'inputs', value: Object.values(sent).reduce((sum, count) => sum + count), least: times },
    ...Object.entries(sent).map(([name, value]) => ({ name: `  ${name}`, value })),
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

/** Sends so many inputs, of all families at the same time. */
async function runFamilies({ times, seed, context, sent, failures }) {
  const total = Object.values(families).reduce((sum, { weight }) => sum + weight, 0);
  const lanes = Object.entries(families).flatMap(([name, { weight }]) => {
    const count = Math.max(1, Math.round((LANES * weight) / total));
    return Array.from({ length: count }, (_, lane) => ({ name, lane, share: (times * weight) / total / count }));
  });
  await Promise.all(
    lanes.map(async ({ name, lane, share }) => {
      const note = (count) => {
        sent[name] = (sent[name] ?? 0) + count;
      };
      const wrong = await runLane(families[name], { seed: seed + lane, share, lane, context, note });
      if (wrong) failures.push(`${name}, lane ${lane}: ${wrong}`);
    }),
  );
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

async function contextFor(service) {
  const limited = { join: ['fuzz-a', '__*', 'fuzz-plain-*'], publish: ['fuzz-a', 'fuzz-plain-*'] };
  const may = (right, room) =>
    limited[right].some((one) => (one.endsWith('*') ? room.startsWith(one.slice(0, -1)) : one === room));
  const files = readdirSync(new URL('../../../public/', import.meta.url)).map((name) => `/${name}`);
  return {
    port: service.port,
    url: service.url,
    apiKey: API_KEY,
    maxPayload: MAX_PAYLOAD,
    tokens: await badTokens(SECRET),
    users: [
      { token: await tokenFor(SECRET, 'free'), may: () => true },
      { token: await tokenFor(SECRET, 'limited', limited), may },
    ],
    files: new Set(['/', '/healthz', '/readyz', ...files]),
  };
}

/** Sends batches until the lane's share is reached. Resolves with what went wrong, if anything did. */
async function runLane({ arbitrary, play }, { seed, share, lane, context, note }) {
  const transport = lane % 2 === 0 ? 'websocket' : 'polling';
  const user = context.users[Math.floor(lane / 2) % 2];
  const own = { ...context, transport, user, lane, keys: new Set() };
  const batches = typeof arbitrary === 'function' ? arbitrary(context.tokens) : arbitrary;
  let left = share;
  const property = fc.asyncProperty(batches, async (batch) => {
    if (left <= 0) return;
    const count = await cleaningUp((use) => play(batch, { ...own, use }));
    left -= count;
    note(count);
  });
  for (let round = 0; left > 0; round++) {
    const parameters = { seed: seed + round * 1000, numRuns: 100, endOnFailure: true };
    const { failed, errorInstance, counterexamplePath } = await fc.check(property, parameters);
    if (failed)
      return `${shown(errorInstance?.message)} (${transport}, seed ${parameters.seed}, path ${counterexamplePath})`;
  }
  return undefined;
}
