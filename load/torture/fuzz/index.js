import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { MAX_SESSION_REST_MS, Service } from '../support/service.js';
import { ControlPair } from './control.js';
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

export async function run({ short, seed, times = short ? SHORT : ALL }) {
  const service = await Service.start({ JWT_SECRET: SECRET, API_KEY, MAX_PAYLOAD: String(MAX_PAYLOAD) });
  const control = await ControlPair.start(
    service.url,
    await Promise.all(['ann', 'bob'].map((name) => tokenFor(SECRET, name))),
  );
  const context = await contextFor(service);
  const before = await service.settled();
  const mismatches = [];
  const sent = { corpus: await runCorpus(context, mismatches) };
  const total = Object.values(families).reduce((sum, { weight }) => sum + weight, 0);
  const lanes = Object.entries(families).flatMap(([name, { weight }]) => {
    const count = Math.max(1, Math.round((LANES * weight) / total));
    sent[name] = 0;
    return Array.from({ length: count }, (_, lane) => ({ name, lane, share: (times * weight) / total / count }));
  });
  await Promise.all(
    lanes.map(async ({ name, lane, share }) => {
      const note = (count) => {
        sent[name] += count;
      };
      const wrong = await runLane(families[name], { seed: seed + lane, share, lane, context, note });
      if (wrong) mismatches.push(`${name}, lane ${lane}: ${wrong}`);
    }),
  );
  await control.stop();
  // Sessions whose client vanished are found out by their heartbeat.
  const left = short ? undefined : await sessionsLeft(service);
  const after = await service.settled(before);
  const { complaints } = service;
  const exits = await service.stop();
  for (const line of [...mismatches, ...complaints, ...control.complaints].slice(0, 30)) console.log(`  ! ${line}`);
  return [
    { name: 'inputs', value: Object.values(sent).reduce((sum, count) => sum + count), least: times },
    ...Object.entries(sent).map(([name, value]) => ({ name: `  ${name}`, value })),
    { name: 'wrong answers', value: mismatches.length, most: 0 },
    { name: 'errors in the log', value: complaints.length, most: 0 },
    { name: 'exit code', value: exits ?? -1, most: 0, least: 0 },
    { name: 'connections left open', value: after.descriptors - before.descriptors, most: 0 },
    ...(left === undefined ? [] : [{ name: 'sessions left', value: left, most: 0 }]),
    { name: 'messages of the control pair', value: control.said },
    { name: 'of them lost, late or out of order', value: control.complaints.length, most: 0 },
    { name: 'slowest reply to the control pair', value: Math.round(control.slowest), unit: 'ms' },
  ];
}

/** How many sessions there still are when the heartbeat of each has been due. */
async function sessionsLeft(service) {
  const patience = Date.now() + MAX_SESSION_REST_MS;
  for (;;) {
    const { clients } = await service.totals();
    if (clients === 0 || Date.now() > patience) return clients;
    await sleep(1000);
  }
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
    const count = await play(batch, own);
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
