import { setTimeout as sleep } from 'node:timers/promises';
import { progress } from '../support/scenario.js';
import { Service } from '../support/service.js';
import { Clients } from './clients.js';
import { Front } from './front.js';
import { cache, install, languages, missingFor } from './install.js';

export const about = 'clients in several languages under a reload, a drain and a stop: which ones return, and how soon';

const known = Object.keys(languages);
const CLIENTS = 5;
const DRAIN_MS = 2000;
/** A client that does not notice the end waits for its heartbeat, which takes 45 s. */
const MAX_RETURN_MS = 10_000;
const GIVE_UP_MS = 60_000;

export const parameters = { language: { type: 'string', multiple: true } };

export const options = {
  language: `NAME: ${known.join(', ')}; may be given several times (all)`,
  'times n': `number of clients of each language and transport (${CLIENTS})`,
};

export const more = `

  Starts two services of two workers behind a TCP load balancer, and idle clients of each language on WebSocket and on
  polling, with the default options of their library. Then the first service reloads, then it drains, and then the
  second one, which all clients have moved to, stops. Each time, the service dismisses its clients within ${DRAIN_MS / 1000} s.
  The last client must return at most ${MAX_RETURN_MS / 1000} s after the first one. Installs the libraries into ${cache}.
  Needs: ${known.map((name) => `${languages[name].library}: ${languages[name].tools.join(', ') || 'nothing'}`).join('; ')}.`;

export async function run({ times = CLIENTS, own: { language = known } }) {
  const unknown = language.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`unknown language ${unknown.join(', ')}. Use ${known.join(', ')}.`);
  const figures = [];
  const groups = [];
  for (const name of language) {
    const missing = missingFor(languages[name]);
    if (missing.length > 0) {
      // Not a guarantee that was tested, so not one that was kept.
      figures.push({
        name: `${name}: programs that are missing (${missing.join(', ')})`,
        value: missing.length,
        most: 0,
      });
      continue;
    }
    progress(`installing ${languages[name].library}`);
    install(name);
  }
  const environment = { DRAIN_TIMEOUT: `${DRAIN_MS / 1000}s` };
  const services = [await Service.start(environment), await Service.start(environment)];
  const [first, second] = services;
  const front = await Front.start(services);
  try {
    const start = performance.now();
    for (const name of language) {
      if (missingFor(languages[name]).length > 0) continue;
      for (const transport of ['websocket', 'polling']) groups.push(new Clients(name, transport, front.url, times));
    }
    progress('connecting');
    if (!(await untilReady(groups, start))) throw new Error('some clients did not connect in the first place');

    figures.push(...(await measure(groups, 'reload', () => process.kill(first.primary, 'SIGHUP'))));
    figures.push(...(await measure(groups, 'drain', () => process.kill(first.primary, 'SIGUSR2'))));
    // The reload ends the drain of the first service, which then takes the clients of the second one.
    process.kill(first.primary, 'SIGHUP');
    while (
      !(await fetch(`${first.url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ))
    )
      await sleep(100);
    figures.push(...(await measure(groups, 'stop', () => void second.stop())));
    const reasons = new Set(groups.flatMap((group) => (group.language === 'javascript' ? [...group.reasons] : [])));
    figures.push({ name: 'socket.io-client was disconnected because of', value: [...reasons].sort().join(', ') });
    figures.push({
      name: 'clients that were disconnected by the application',
      value: reasons.has('io server disconnect') ? 1 : 0,
      most: 0,
    });
  } finally {
    progress('');
    for (const group of groups) group.close();
    front.close();
    await Promise.all(services.map((service) => service.stop()));
  }
  return figures;
}

/** Does something that dismisses all clients, and measures how long they take to return. */
async function measure(groups, end, act) {
  progress(`${end}: waiting for all clients`);
  const start = performance.now();
  act();
  await untilReady(groups, start);
  // What comes before, such as the start of new workers, concerns no client.
  const first = Math.min(...groups.flatMap((group) => group.readyAt.filter((at) => at > start)));
  return groups.flatMap((group) => {
    const returned = group.readyAt.filter((at) => at > start);
    const slowest = Math.max(0, ...returned.map((at) => at - first));
    const name = `${end}, ${group.language} on ${group.transport}`;
    return [
      {
        name: `${name}: clients that did not return`,
        value: group.missingSince(start),
        times: group.readyAt.length,
        most: 0,
      },
      {
        name: `${name}: slowest return after the first client's`,
        value: Math.round(slowest),
        unit: 'ms',
        most: MAX_RETURN_MS,
      },
    ];
  });
}

/** Resolves once all clients have been ready since a moment, with false if that takes too long. */
async function untilReady(groups, moment) {
  for (const end = performance.now() + GIVE_UP_MS; performance.now() < end; await sleep(20)) {
    if (groups.every((group) => group.missingSince(moment) === 0)) return true;
  }
  return false;
}
