import { hasRedis } from '../../../test/support/redis.js';
import { aligned } from '../../harness/command.js';
import { progress } from '../support/scenario.js';
import { attacks } from './attacks.js';
import { runRow } from './row.js';
import { BOUNDS } from './verdict.js';

export const about = 'one client that takes more than its share: what it costs the server, and how long others wait';

const RATE = 10_000_000;
const SECONDS = 10;
const SHORT_SECONDS = 2;
/** How often a row is run at most. What a busy machine has disturbed says nothing if it misses a must. */
const MAX_TRIES = 3;

/** What the server is set to. */
const passes = [
  { name: 'default', environment: {} },
  {
    name: 'limited',
    environment: { RATE_LIMIT: 'events=50/s,bytes=100000/s', MAX_CONNECTIONS_PER_IP: '100' },
  },
  // Where there is a redis-server: what the history takes there instead.
  { name: 'redis', environment: {}, isRedis: true, takes: /^(control|history:|chat: messages|arguments: event, )/ },
].filter(({ isRedis }) => !isRedis || hasRedis());

export const options = {
  only: {
    ...{ takes: 'TEXT', multiple: true },
    about: 'the attacks whose name contains the text; may be given several times',
  },
  limits: { takes: 'NAME', of: passes.map(({ name }) => name), about: 'these settings alone' },
  sockets: { takes: 'NAME', of: ['native', 'portable'], about: 'the sockets of the servers (the first that load)' },
  seconds: `length of each attack (${SECONDS}; ${SHORT_SECONDS} with --short)`,
  list: { about: 'names the attacks and what they send' },
};

/** What is printed in place of a run, if the arguments ask for that. */
export const answer = ({ list, only }) =>
  list
    ? chosen(only)
        .map(({ name, about: what }) => `${name}\n    ${what}`)
        .join('\n')
    : undefined;

/** What the usage text says besides. */
export const more = `

  Runs each attack against a fresh server of two workers: with its default settings, with limits set, and those that
  fill the history on Redis too, if there is one. Attacks on recovery, and on WebSockets of the application itself, run against an application under gjallar run. The attacker sends up to ${RATE / 1e6} MB/s from one address. Meanwhile a
  client on the same worker and one on another worker ask for an echo every 50 ms, and for the acknowledgement of a
  message every 200 ms. Must: no worker dies, no other client loses its connection, the longest wait is ${BOUNDS.same} ms on
  the same worker, ${BOUNDS.other} ms on another one and ${BOUNDS.post} ms for an acknowledgement, and a worker takes at most
  ${BOUNDS.memory} MB above its idle memory. Each attack prints one line of JSON; the table at the end has all of them. "lag"
  is how late the probes themselves were, "programs" how many cores other programs took. A row is noisy where that is
  more than 50 ms or 0.3 cores; one that is noisy and misses a must is run again, ${MAX_TRIES} times in all, and the table says
  how often. If the row "control" misses a must, the machine is too busy to judge any row.`;

/** @param {import('../support/scenario.js').Options & { own?: object }} options */
export async function run({ short, own = {} }) {
  const { only, limits, sockets, seconds = short ? SHORT_SECONDS : SECONDS } = own;
  const list = chosen(only);
  if (list.length === 0) throw new Error('there is no such attack: see --list');
  const rows = [];
  for (const pass of passes.filter(({ name }) => limits === undefined || name === limits)) {
    for (const attack of list.filter(({ name }) => pass.takes?.test(name) ?? true)) {
      progress(`${pass.name}: ${attack.name}`);
      rows.push(await row(attack, pass, { seconds, sockets, rate: RATE }));
      progress('');
      console.log(JSON.stringify(rows.at(-1)));
    }
  }
  const measured = rows.filter(({ server }) => server);
  console.log(
    `\n${aligned([TITLES, ...measured.map((row) => cellsOf(row).map(String))], (column) => column < 2).join('\n')}\n`,
  );
  for (const { attack, limits: pass, faults } of rows.filter(({ ok }) => !ok)) {
    console.log(`  ! ${attack} (${pass}): ${faults.join('; ')}`);
  }
  return [
    { name: 'attacks', value: rows.length, least: 1 },
    { name: 'attacks that miss a must', value: rows.filter(({ ok }) => !ok).length, most: 0 },
    { name: 'rows that a busy machine has disturbed', value: rows.filter(({ noisy }) => noisy).length },
  ];
}

const TITLES =
  'attack,limits,sent MB,conn.,its CPU s,CPU s,memory MB,Redis MB,disk MB,died,same ms,other ms,ack ms,lag ms,programs,'.split(
    ',',
  );

/** What a person reads of a row. */
const cellsOf = ({ attack, limits, spent, server, others, programs, ok, noisy, tries }) => [
  ...[attack, limits, (spent.bytes / 1e6).toFixed(1), spent.connections, spent.cpu, server.cpu, server.memory],
  ...[server.redis ?? '', server.disk, server.deaths, others.same, others.other, others.post, others.lag, programs],
  `${ok ? 'ok' : 'FAILED'}${noisy ? ', noisy' : ''}${tries > 1 ? `, try ${tries}` : ''}`,
];

/** An attack that cannot be run has failed, and the others go on. */
async function row(attack, pass, settings) {
  try {
    for (let tries = 1; ; tries++) {
      const measured = { ...(await runRow(attack, pass, settings)), tries };
      if (measured.ok || !measured.noisy || tries === MAX_TRIES) return measured;
      console.log(JSON.stringify(measured));
    }
  } catch (error) {
    return { attack: attack.name, limits: pass.name, ok: false, faults: [`not run: ${error.message}`] };
  }
}

function chosen(only) {
  return attacks.filter(({ name }) => !only || only.some((text) => name.includes(text)));
}
