import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { io } from 'socket.io-client';
import { progress } from '../support/scenario.js';
import { SupervisedService } from '../support/supervised-service.js';

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
  const directory = mkdtempSync(join(tmpdir(), 'torture-'));
  const drain = short ? 2 : 5;
  const environment = { WORKERS: String(WORKERS), DRAIN_TIMEOUT: `${drain}s`, DATA_DIR: join(directory, 'data') };
  mkdirSync(join(directory, 'service'));
  const service = await SupervisedService.start({ directory: join(directory, 'service'), environment });
  const url = `http://127.0.0.1:${service.port}`;
  const clients = new EchoClients(url, short ? 60 : 400);
  const probing = new Probing(`${url}/healthz`);
  const end = Date.now() + minutes * 60_000;
  let done = 0;
  let missing = 0;
  try {
    await clients.untilConnected(MAX_RECOVERY_MS);
    clients.connectedAt.length = 0;
    for (; done < times && Date.now() < end; done++) {
      progress(`reload ${done + 1} of ${times}`);
      const { workers } = service;
      service.signal('SIGHUP');
      await service.untilReplaced(workers, WORKERS);
      await clients.untilConnected(MAX_RECOVERY_MS);
      missing += clients.disconnected;
    }
    progress('');
  } finally {
    await probing.stop();
    clients.close();
    await service.stop();
    rmSync(directory, { recursive: true, force: true });
  }
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
    { name: 'failed connection attempts of clients', value: clients.failures },
    { name: `peak of reconnections per second, with a drain of ${drain} s`, value: peakOf(clients.connectedAt) },
    { name: 'echoes answered', value: clients.answered },
    { name: 'echoes lost with their connection', value: clients.unanswered },
    { name: 'requests on new connections', value: probing.answered, least: 1 },
    // Without net.ipv4.tcp_migrate_req, closing a listen socket resets the connections that wait in its queue.
    {
      name: 'failed requests on new connections',
      value: probing.failures,
      most: migrate === '1' ? 0 : Math.ceil(probing.answered / 1000),
    },
  ];
}

/** Clients with their default options that ask for echoes all the time. */
class EchoClients {
  connectedAt = [];
  disconnects = 0;
  failures = 0;
  answered = 0;
  unanswered = 0;
  #sockets;
  #isOpen = true;

  constructor(url, size) {
    this.size = size;
    this.#sockets = Array.from({ length: size }, () => {
      const socket = io(url, { forceNew: true });
      socket.on('connect', () => this.connectedAt.push(performance.now()));
      socket.on('disconnect', () => {
        if (this.#isOpen) this.disconnects++;
      });
      socket.on('connect_error', () => this.failures++);
      void this.#talk(socket);
      return socket;
    });
  }

  async #talk(socket) {
    while (this.#isOpen) {
      await sleep(500 * (0.5 + Math.random()));
      if (!socket.connected) continue;
      const isOver = new Promise((resolve) => socket.once('disconnect', () => resolve(false)));
      const answer = socket.emitWithAck('echo', 1).then(() => true);
      // What the end of a connection leaves unanswered is rejected by socket.io-client.
      if (await Promise.race([answer.catch(() => false), isOver])) this.answered++;
      else if (this.#isOpen) this.unanswered++;
    }
  }

  get disconnected() {
    return this.#sockets.filter(({ connected }) => !connected).length;
  }

  async untilConnected(timeout) {
    const end = performance.now() + timeout;
    while (this.disconnected > 0 && performance.now() < end) await sleep(50);
  }

  close() {
    this.#isOpen = false;
    for (const socket of this.#sockets) socket.disconnect();
  }
}

/** Requests, each on a connection of its own. */
class Probing {
  answered = 0;
  failures = 0;
  #isOn = true;
  #loops;

  constructor(url) {
    this.#loops = Array.from({ length: PROBES }, async () => {
      while (this.#isOn) {
        if (await this.#probe(url)) this.answered++;
        else this.failures++;
        await sleep(1);
      }
    });
  }

  #probe(url) {
    return new Promise((resolve) => {
      request(url, { agent: false }, (response) => {
        response.on('end', () => resolve(response.statusCode === 200)).on('error', () => resolve(false));
        response.resume();
      })
        .on('error', () => resolve(false))
        .end();
    });
  }

  async stop() {
    this.#isOn = false;
    await Promise.all(this.#loops);
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

function round(value) {
  return Math.round(value * 100) / 100;
}
