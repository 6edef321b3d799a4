import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { numberOption, rejectUnknown } from '../../harness/command.js';
import { Announcer } from '../support/announcer.js';
import { Hosted } from '../support/hosted.js';
import { progress } from '../support/scenario.js';
import { Audience } from './audience.js';

export const about = 'reloads of an application under many clients: events lost and repeated, reconnects, pauses';

export const options = {
  'times n':
    'number of reloads, without connectionStateRecovery, with it, and with RELOAD_HOLD too (20; 2 with --short)',
  'minutes n': 'time limit of each of these parts (15)',
  'clients n': 'number of clients; half of them upgrade, 40% begin with WebSocket, 10% stay on polling (5,000)',
  'recovery off|on|hold': 'only one of these parts',
};

export const parameters = { clients: { type: 'string' }, recovery: { type: 'string' } };

const app = fileURLToPath(new URL('app.mjs', import.meta.url));
/** What the environment of the application is in each part. */
const environments = { off: { RECOVERY: 'off' }, on: { RECOVERY: 'on' }, hold: { RECOVERY: 'on', RELOAD_HOLD: '1h' } };
const MODES = Object.keys(environments);
const WORKERS = 2;
/** How long it may take until all clients are connected again after a reload, in ms. */
const MAX_RECOVERY_MS = 60_000;

/** @throws UsageError */
export function check(values) {
  numberOption(values, 'clients');
  rejectUnknown('value of --recovery', values.recovery === undefined ? [] : [values.recovery], MODES);
}

export async function run({ short, times = short ? 2 : 20, minutes = 15, own = {} }) {
  const modes = own.recovery === undefined ? MODES : [own.recovery];
  const clients = numberOption(own, 'clients') ?? (short ? 50 : 5000);
  const figures = [];
  for (const mode of modes) figures.push(...(await runMode(mode, { short, times, minutes, clients })));
  return figures;
}

async function runMode(mode, { short, times, minutes, clients }) {
  // The full form has the default of RELOAD_SETTLE.
  const timing = short ? { DRAIN_TIMEOUT: '1s' } : { DRAIN_TIMEOUT: '10s', RELOAD_SETTLE: '5s' };
  const environment = { ...timing, ...environments[mode] };
  const hosted = await Hosted.start({ app, workers: WORKERS, environment });
  const end = Date.now() + minutes * 60_000;
  let audience;
  let announcer;
  let reloads = 0;
  let missing = 0;
  try {
    audience = await Audience.open(hosted.url, clients);
    announcer = new Announcer((number) => `${hosted.url}/?number=${number}`, short ? 50 : 500);
    for (; reloads < times && Date.now() < end; reloads++) {
      progress(`recovery ${mode}: reload ${reloads + 1} of ${times}`);
      await hosted.reload();
      if (!(await audience.untilConnected(MAX_RECOVERY_MS))) missing += audience.disconnected;
    }
    await announcer.stop();
    // The last number must arrive.
    for (let tries = 0; tries < 20 && !(await announcer.announce()); tries++) await sleep(100);
    await audience.finish(announcer.number);
  } finally {
    progress('');
    await hosted.stop();
  }
  return figuresOf({ mode, audience, announcer, reloads, missing });
}

function figuresOf({ mode, audience, announcer, reloads, missing }) {
  const { size, reconnects, recovered, deliveries, repeated, lost, missed, failures } = audience;
  const named = (name, value, rest) => ({ name: `recovery ${mode}: ${name}`, value, ...rest });
  const outage = audience.outages.reduce((longest, one) => Math.max(longest, one), 0);
  const { unconfirmed } = announcer;
  // What the application may not have sent cannot be missed.
  const sumOf = (counts) =>
    [...counts].reduce((sum, [number, count]) => sum + (unconfirmed.has(number) ? 0 : count), 0);
  return [
    named('reloads', reloads, { least: 1 }),
    named('clients', size),
    named('clients that did not reconnect', missing, { most: 0 }),
    named('reconnects per client and reload', Math.round((100 * reconnects) / size / reloads) / 100),
    named('reconnects with the same session', recovered),
    named('longest outage of a client', Math.round(outage), { unit: 'ms' }),
    named('longest time between two events of a client', Math.round(audience.longestSilenceMs), { unit: 'ms' }),
    named('deliveries', deliveries, { least: 1 }),
    named('lost by clients that kept their session', sumOf(lost), { most: 0 }),
    named('missed by clients that got a new session', sumOf(missed)),
    named('repeated', repeated, { most: 0 }),
    named('events that the application did not confirm', unconfirmed.size),
    named('failed connection attempts', failures),
  ];
}
