import { setTimeout as sleep } from 'node:timers/promises';
import { soon, until } from '../../harness/until.js';
import { Announcer, answerOf } from '../support/announcer.js';
import { cleaningUp, counted, progress } from '../support/scenario.js';
import { Service } from '../support/service.js';
import { COPIED_MS, MAX_RECOVERY_MS, untilAllWork, faults as usual } from './faults.js';
import { Talkers } from './talkers.js';

/** How long a client may lack what others have already got, in ms. */
const MAX_DELAY_MS = 20_000;

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
 * @param {Record<string, Function>} [options.faults] beside the usual ones; they also get the clients
 * @param {(turn: number) => string} options.nextFault
 * @param {number} options.times
 * @param {number} [options.end] when to stop, whatever is left
 * @param {() => number} options.random
 * @param {number} [options.talk] how many numbers a second each client says
 * @param {number} [options.probeMs] between two requests that each have a connection of their own
 */
export function trial({
  label,
  workers,
  environment,
  nextFault,
  times,
  end = Number.POSITIVE_INFINITY,
  random,
  ...options
}) {
  const { clients, ways, clientOptions, interval, isOwn = false, faults = {}, talk = 0, probeMs } = options;
  return cleaningUp(async (use) => {
    const server = use(await Service.host({ workers, environment }));
    const listeners = use(new Talkers(), 'close');
    await listeners.open(server.url, clients, ways, clientOptions);
    const ask = (number) => answerOf(`${server.url}/?number=${number}${isOwn ? '&own' : ''}`);
    const announcer = new Announcer(ask, interval);
    // socket.io-client names its session with the first event.
    const haveHeard = () => listeners.clients.every(({ last }) => last !== undefined);
    await until(haveHeard, 'not all clients receive events');
    await sleep(COPIED_MS);
    listeners.talk(talk);
    const probe = () => use(new Announcer(() => answerOf(`${server.url}/probe`), probeMs));
    const probes = probeMs ? Array.from({ length: 4 }, probe) : [];
    const done = [];
    let missing = 0;
    for (let turn = 0; turn < times && Date.now() < end; turn++) {
      const name = nextFault(turn);
      progress(`${label}: ${turn + 1} of ${times}: ${name}`);
      listeners.begin(name);
      announcer.isPaused = false;
      await { ...usual, ...faults }[name](server, random, listeners);
      await untilAllWork(server, workers);
      if (!(await listeners.untilConnected(MAX_RECOVERY_MS))) missing += listeners.disconnected;
      // Sessions to which nothing happens must be copied, too.
      announcer.isPaused = turn % 3 !== 0;
      await sleep(COPIED_MS + random() * 500);
      done.push(name);
    }
    announcer.isPaused = false;
    await announcer.stop();
    listeners.stop();
    // The last number must arrive at all clients.
    for (let tries = 0; tries < 20 && !(await announcer.announce()); tries++) await sleep(100);
    await soon(() => listeners.lost(announcer.confirmed) + listeners.unanswered === 0, MAX_DELAY_MS, 200);
    return { listeners, announcer, probes, done, missing };
  });
}

/** What every trial says. @param {Awaited<ReturnType<typeof trial>>} trial */
export function figuresOf({ listeners, announcer, done, missing }, { recovers }) {
  const { confirmed, unconfirmed } = announcer;
  const { returns } = listeners;
  const anew = returns.filter(({ isSame }) => !isSame);
  const outage = returns.reduce((longest, one) => Math.max(longest, one.outage), 0);
  return [
    { name: 'faults', value: done.length, least: 1 },
    { name: 'kinds of faults', value: counted(done) },
    { name: 'clients', value: listeners.clients.length },
    { name: 'returns of clients', value: returns.length, least: 1 },
    { name: 'returns with a new session', value: anew.length, most: recovers ? 0 : undefined },
    { name: 'new sessions after', value: recovers ? counted(anew.map(({ fault }) => fault)) : 'every fault' },
    { name: 'clients that did not return', value: missing, most: 0 },
    { name: 'longest outage of a client', value: Math.round(outage), unit: 'ms' },
    { name: 'confirmed events', value: confirmed.size, least: 1 },
    { name: 'events without an answer', value: unconfirmed.size },
    { name: 'deliveries', value: listeners.deliveries, least: 1 },
    { name: 'lost by clients that kept their session', value: listeners.lost(confirmed), most: 0 },
    { name: 'missed by clients without a session', value: listeners.missed(confirmed), most: recovers ? 0 : undefined },
    { name: 'repeated', value: listeners.repeated, most: 0 },
    { name: 'out of order', value: listeners.outOfOrder(), most: 0 },
    { name: 'failed connection attempts', value: counted(listeners.errors) },
  ];
}
