import { setTimeout as sleep } from 'node:timers/promises';
import { soon, until } from '../../harness/until.js';
import { Announcer, answerOf } from '../support/announcer.js';
import { Crowd } from '../support/crowd.js';
import { progress } from '../support/scenario.js';
import { Service } from '../support/service.js';
import { COPIED_MS, MAX_RECOVERY_MS, untilAllWork, faults as usual } from './faults.js';

/** How long a client may lack what others have already got, in ms. */
const MAX_DELAY_MS = 20_000;

/** Clients of the application: of so many, each way to connect has its share. */
export class Listeners extends Crowd {
  /** What is done to the workers, and the faults after which clients got a new session, with their number. */
  fault = 'none';
  forgottenAfter = new Map();
  /** One entry for each number and worker, which all clients share: thousands of them hear the same. */
  #entries = new Map();

  /** Adds clients that connect with these transports in turn. */
  open(url, count, ways, options = {}) {
    return this.fill(count, (index) => {
      const heard = new Map([
        ['room', []],
        ['own', []],
      ]);
      const client = this.add(url, { transports: ways[index % ways.length], ...options }, { heard });
      client.socket.on('number', (key, worker) => this.hear(client, 'room', this.#entryOf(key, worker)));
      client.socket.on('own', (key, worker) => this.hear(client, 'own', this.#entryOf(key, worker)));
    });
  }

  #entryOf(key, lane) {
    const name = `${key} ${lane}`;
    if (!this.#entries.has(name)) this.#entries.set(name, { key, lane });
    return this.#entries.get(name);
  }

  onConnect({ socket }, isReturn) {
    if (isReturn && !socket.recovered)
      this.forgottenAfter.set(this.fault, (this.forgottenAfter.get(this.fault) ?? 0) + 1);
  }

  /** Whether each client has received an event: socket.io-client names its session only then. */
  get haveHeard() {
    return this.clients.every(({ last }) => last !== undefined);
  }

  /** What confirmed numbers clients lack, of those that were sent while they had a session. @param {Map<number, string[]>} confirmed */
  lost(confirmed) {
    return this.lacking((client, stream) =>
      expected(client, stream, confirmed).filter((n) => !Crowd.isAbsent(client, n)),
    );
  }

  /** The same of those sent while they had none. */
  missed(confirmed) {
    return this.lacking((client, stream) =>
      expected(client, stream, confirmed).filter((n) => n >= client.first && Crowd.isAbsent(client, n)),
    );
  }
}

function expected({ ids }, stream, confirmed) {
  if (stream === 'room') return [...confirmed.keys()];
  return [...confirmed].flatMap(([number, sockets]) => (sockets.some((id) => ids.has(id)) ? [number] : []));
}

/**
 * Injects faults into an application under load.
 * @param {object} options
 * @param {string} options.label
 * @param {number} options.workers
 * @param {Record<string, string>} options.environment
 * @param {number} options.clients
 * @param {string[][]} options.ways transports of the clients, in turn
 * @param {object} [options.clientOptions] of socket.io-client
 * @param {number} options.interval between two numbers, in ms
 * @param {boolean} [options.isOwn] whether each number is sent to each socket alone, too
 * @param {Record<string, Function>} [options.faults] beside the usual ones
 * @param {(turn: number) => string} options.nextFault
 * @param {number} options.times
 * @param {number} options.end when to stop, whatever is left
 * @param {() => number} options.random
 * @param {number} [options.probeMs] between two requests that each have a connection of their own
 */
export async function trial(options) {
  const {
    label,
    workers,
    environment,
    clients,
    ways,
    interval,
    isOwn = false,
    nextFault,
    times,
    end,
    random,
  } = options;
  const { clientOptions, faults = {}, probeMs } = options;
  const server = await Service.host({ workers, environment });
  const done = new Map();
  const listeners = new Listeners();
  /** How many clients each fault has disconnected. */
  const disconnected = new Map();
  let missing = 0;
  let announcer;
  const ask = (number) => answerOf(`${server.url}/?number=${number}${isOwn ? '&own' : ''}`);
  const probes = [];
  try {
    await listeners.open(server.url, clients, ways, clientOptions);
    announcer = new Announcer(ask, interval);
    await until(() => listeners.haveHeard, 'not all clients receive events');
    await sleep(COPIED_MS);
    const probe = () => new Announcer(() => answerOf(`${server.url}/probe`), probeMs);
    if (probeMs) probes.push(...Array.from({ length: 4 }, probe));
    listeners.connectedAt.length = 0;
    for (let turn = 0; turn < times && Date.now() < end; turn++) {
      const name = nextFault(turn);
      progress(`${label}: ${turn + 1} of ${times}: ${name}`);
      listeners.fault = name;
      const { disconnects } = listeners;
      const fault = { ...usual, ...faults }[name](server, random);
      announcer.isPaused = false;
      await fault;
      await untilAllWork(server, workers);
      if (!(await listeners.untilConnected(MAX_RECOVERY_MS))) missing += listeners.disconnected;
      // Sessions to which nothing happens must be copied, too.
      announcer.isPaused = turn % 3 !== 0;
      await sleep(COPIED_MS + random() * 500);
      done.set(name, (done.get(name) ?? 0) + 1);
      disconnected.set(name, (disconnected.get(name) ?? 0) + listeners.disconnects - disconnects);
    }
    announcer.isPaused = false;
    await announcer.stop();
    // The last number must arrive at all clients.
    for (let tries = 0; tries < 20 && !(await announcer.announce()); tries++) await sleep(100);
    await soon(() => listeners.lost(announcer.confirmed) === 0, MAX_DELAY_MS, 200);
    const attempts = await failedRecoveries(server);
    return { listeners, announcer, probes, done, missing, disconnected, attempts };
  } finally {
    progress('');
    await Promise.all(probes.map((probe) => probe.stop()));
    listeners.close();
    await server.stop();
  }
}

/** What every trial says. @param {Awaited<ReturnType<typeof trial>>} trial */
export function figuresOf({ listeners, announcer, done, missing, attempts }, { recovers }) {
  const { confirmed, unconfirmed } = announcer;
  const { returns, kept } = listeners;
  const counted = (counts) => [...counts].map(([name, count]) => `${count} × ${name}`).join(', ') || 'none';
  const injected = [...done.values()].reduce((sum, count) => sum + count, 0);
  const outage = returns.reduce((longest, one) => Math.max(longest, one.outage), 0);
  return [
    { name: 'faults', value: injected, least: 1 },
    { name: 'kinds of faults', value: counted(done) },
    { name: 'clients', value: listeners.size },
    { name: 'returns of clients', value: returns.length, least: 1 },
    { name: 'returns with a new session', value: returns.length - kept, most: recovers ? 0 : undefined },
    { name: 'new sessions after', value: recovers ? counted(listeners.forgottenAfter) : 'every fault' },
    { name: 'failed recoveries on workers that live', value: attempts },
    { name: 'clients that did not return', value: missing, most: 0 },
    { name: 'longest outage of a client', value: Math.round(outage), unit: 'ms' },
    { name: 'confirmed events', value: confirmed.size, least: 1 },
    { name: 'events without an answer', value: unconfirmed.size },
    { name: 'deliveries', value: listeners.deliveries, least: 1 },
    { name: 'lost by clients that kept their session', value: listeners.lost(confirmed), most: 0 },
    { name: 'missed by clients without a session', value: listeners.missed(confirmed), most: recovers ? 0 : undefined },
    { name: 'repeated', value: listeners.repeated, most: 0 },
    { name: 'out of order', value: listeners.outOfOrder(), most: 0 },
    { name: 'failed connection attempts', value: listeners.failures },
  ];
}

/** How recoveries have failed, by the metrics of the workers. */
async function failedRecoveries(server) {
  const text = await (await fetch(`${server.admin}/metrics`)).text();
  const counts = new Map();
  for (const [, outcome, count] of text.matchAll(/^gjallar_recovery_attempts_total{.*result="([^"]+)".*} (\d+)$/gm)) {
    if (outcome !== 'recovered' && count !== '0') counts.set(outcome, (counts.get(outcome) ?? 0) + Number(count));
  }
  return [...counts].map(([outcome, count]) => `${count} × ${outcome}`).join(', ') || 'none';
}
