// One generator process: holds clients and does what the harness tells it over IPC.

import { answerOrders } from '../harness/process/orders.js';
import { Client } from './client.js';
import { now } from './clock.js';
import { Histogram } from './histogram.js';
import { stopPacing } from './pace.js';
import { startOnPolling } from './polling.js';
import { nameOf, roles, roomOf } from './roles.js';
import { nextSource } from './source.js';

/** How many clients connect at a time, between SYN and connected namespace. */
const CONNECTING = 100;

const clients = [];
const counters = { sent: 0, received: 0, bytes: 0, published: 0, acknowledged: 0, late: 0, errors: 0, ended: 0 };
const latency = new Histogram();

/** Called whenever a client has got as far as `open` or `join` waits for. */
let arrived = () => {};
let failed = () => {};

const owner = {
  pings: 0,
  event() {},
  ready: () => arrived(),
  acknowledged: (_client, isOk) => (isOk ? arrived() : failed(new Error('the server refuses the join'))),
  ended(_client, reason) {
    counters.ended++;
    failed(new Error(`a client lost its connection: ${reason}`));
  },
};

const orders = {
  /** Connects `count` more clients, to all ports in turn. */
  open({ host, ports, count, named, readSize, onPolling }) {
    return inTurns(count, CONNECTING, () => {
      const port = ports[clients.length % ports.length];
      const name = named ? nameOf(clients.length) : undefined;
      const connect = (begun) =>
        clients.push(new Client({ host, port, name, begun, readSize, ...nextSource(), owner }));
      if (onPolling) startOnPolling({ host, port }).then(connect, (error) => failed(error));
      else connect();
    });
  },

  /** Clients join a room, or rooms of `members` each. */
  join({ room, members }) {
    let next = 0;
    return inTurns(clients.length, 64, () => {
      clients[next].join(room ?? roomOf(next, members));
      next++;
    });
  },

  /** Begins to play a role, and ends what was being sent before. */
  begin({ name, ...options }) {
    stopPacing();
    Object.assign(owner, roles[name](clients, options, counters, latency));
  },

  /** What has happened so far; latencies are those since the last look. */
  look() {
    const seen = {
      at: now(),
      cpu: cpuMicros(),
      counters: { ...counters, pings: owner.pings },
      latency: latency.toJSON(),
    };
    latency.reset();
    return seen;
  },

  count: ({ counter }) => counters[counter],
};

/** Starts `count` exchanges, `inFlight` at a time; settles when all have arrived or one client failed. */
function inTurns(count, inFlight, start) {
  return new Promise((resolve, reject) => {
    let started = 0;
    let done = 0;
    failed = reject;
    arrived = () => {
      done++;
      if (started < count) {
        started++;
        start();
      } else if (done === count) {
        failed = () => {};
        resolve();
      }
    };
    if (count === 0) resolve();
    while (started < Math.min(count, inFlight)) {
      started++;
      start();
    }
  });
}

function cpuMicros() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

answerOrders(orders);
process.send({ ready: true });
