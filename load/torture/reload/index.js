import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Announcer } from '../support/announcer.js';
import { Crowd } from '../support/crowd.js';
import { progress } from '../support/scenario.js';
import { Service } from '../support/service.js';

export const about = 'rolling reloads under load: failed requests, and how fast the clients reconnect';

export const options = {
  'times n': 'number of reloads (100; 2 with --short)',
  'minutes n': 'time limit (60)',
};

const WORKERS = 2;
const PROBES = 4;
/** How long it may take until all clients are connected again after a reload. */
const MAX_RECOVERY_MS = 30_000;

export async function run({ short, times = short ? 2 : 100, minutes = 60 }) {
  const drain = short ? 2 : 5;
  const service = await Service.start({ ADMIN_PORT: '0', WORKERS: String(WORKERS), DRAIN_TIMEOUT: `${drain}s` });
  const clients = new EchoClients(service.url, short ? 40 : 400);
  // Requests, each on a connection of its own.
  const probes = Array.from({ length: PROBES }, () => new Announcer(() => `${service.url}/healthz`, short ? 5 : 1));
  const end = Date.now() + minutes * 60_000;
  let done = 0;
  let missing = 0;
  try {
    await clients.untilConnected(MAX_RECOVERY_MS);
    clients.connectedAt.length = 0;
    for (; done < times && Date.now() < end; done++) {
      progress(`reload ${done + 1} of ${times}`);
      await service.reload();
      await clients.untilConnected(MAX_RECOVERY_MS);
      missing += clients.disconnected;
    }
    progress('');
  } finally {
    await Promise.all(probes.map((probe) => probe.stop()));
    clients.close();
    await service.stop();
  }
  const answered = sumOf(probes, ({ confirmed }) => confirmed.size);
  const migrate = readFileSync('/proc/sys/net/ipv4/tcp_migrate_req', 'utf8').trim();
  return [
    { name: 'reloads', value: done, least: 1 },
    { name: 'net.ipv4.tcp_migrate_req', value: migrate },
    { name: 'clients', value: clients.size },
    { name: 'clients that did not reconnect', value: missing, most: 0 },
    {
      name: 'disconnects per client and reload',
      value: round(clients.disconnects / clients.size / done),
    },
    {
      name: 'failed connection attempts of clients',
      value: sumOf([...clients.errors.values()], (count) => count),
    },
    { name: `peak of reconnections per second, with a drain of ${drain} s`, value: peakOf(clients.connectedAt) },
    { name: 'echoes answered', value: clients.answered },
    { name: 'echoes lost with their connection', value: clients.unanswered },
    { name: 'requests on new connections', value: answered, least: 1 },
    // Without net.ipv4.tcp_migrate_req, closing a listen socket resets the connections that wait in its queue.
    {
      name: 'failed requests on new connections',
      value: sumOf(probes, ({ unconfirmed }) => unconfirmed.size),
      most: migrate === '1' ? 0 : Math.ceil(answered / 1000),
    },
  ];
}

/** Clients with their default options that ask for echoes all the time. */
class EchoClients extends Crowd {
  connectedAt = [];
  answered = 0;
  unanswered = 0;
  #isTalking = true;

  constructor(url, size) {
    super();
    for (let index = 0; index < size; index++) void this.#talk(this.add(url).socket);
  }

  onConnect() {
    this.connectedAt.push(performance.now());
  }

  async #talk(socket) {
    while (this.#isTalking) {
      await sleep(500 * (0.5 + Math.random()));
      if (!socket.connected) continue;
      const isOver = new Promise((resolve) => socket.once('disconnect', () => resolve(false)));
      const answer = socket.emitWithAck('echo', 1).then(() => true);
      // What the end of a connection leaves unanswered is rejected by socket.io-client.
      if (await Promise.race([answer.catch(() => false), isOver])) this.answered++;
      else if (this.#isTalking) this.unanswered++;
    }
  }

  close() {
    this.#isTalking = false;
    super.close();
  }
}

/** The most events within a second. */
function peakOf(times) {
  let peak = 0;
  for (let first = 0, last = 0; last < times.length; last++) {
    while (times[last] - times[first] > 1000) first++;
    peak = Math.max(peak, last - first + 1);
  }
  return peak;
}

const sumOf = (things, numberOf) => things.reduce((sum, thing) => sum + numberOf(thing), 0);

function round(value) {
  return Math.round(value * 100) / 100;
}
