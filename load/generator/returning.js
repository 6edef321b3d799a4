// A generator process of socket.io-clients that return after each disconnection, as those of an application do: see `Child` for
// its orders. One such process hears numbers, another one says them.

import { io } from 'socket.io-client';
import { answerOrders } from '../harness/process/orders.js';
import { soon } from '../harness/until.js';
import { Announcer } from '../torture/support/announcer.js';
import { Crowd } from '../torture/support/crowd.js';
import { now } from './clock.js';
import { Histogram } from './histogram.js';

const STREAM = 'all';
/** Clients are offline for 1 to 3 s, as those of the published benchmark. */
const CLIENT = { transports: ['websocket'], reconnectionDelay: 2000 };
const AT_ONCE = 100;
const MAX_WAIT_MS = 30_000;
/** How long the publisher waits for an answer; what has none may have been sent or not, and does not count. */
const ANSWER_TIMEOUT_MS = 2000;

const crowd = new Crowd();
const latency = new Histogram();
const counters = { received: 0, cuts: 0, errors: 0, ended: 0, late: 0, sent: 0, bytes: 0 };
/** One for each number: all clients hear the same. */
const entries = new Map();
let cutting = [];
let announcer;

function add(urls, index) {
  const { socket, ...client } = crowd.add(urls[index % urls.length], CLIENT, { heard: new Map([[STREAM, []]]) });
  let next = index;
  // As through a load balancer, the next attempt meets another server.
  socket.io.on('reconnect_attempt', () => {
    socket.io.uri = urls[++next % urls.length];
  });
  socket.on('message', ({ n, at }) => {
    if (!entries.has(n)) entries.set(n, { key: n });
    counters.received++;
    latency.record(now() - at);
    crowd.hear(client, STREAM, entries.get(n));
  });
}

answerOrders({
  async open({ host, ports, count }) {
    const urls = ports.map((port) => `http://${host}:${port}`);
    for (let index = 0; index < count; index++) {
      add(urls, index);
      if (index % AT_ONCE === AT_ONCE - 1) await crowd.untilConnected(MAX_WAIT_MS);
    }
    if (!(await crowd.untilConnected(MAX_WAIT_MS))) throw new Error(`clients do not connect: ${crowd.errors.at(-1)}`);
  },

  /** From now on, the TCP connection of each client is cut every so many ms, of each at another moment. */
  cut({ every }) {
    cutting = crowd.clients.map(({ socket }) => {
      const cut = () => {
        if (!socket.connected) return;
        counters.cuts++;
        socket.io.engine.transport.ws.terminate();
      };
      return setTimeout(() => cutting.push(setInterval(cut, every)), Math.random() * every);
    });
  },

  /** Says a number so many times a second, from a client of its own. */
  publish({ host, ports, perSecond }) {
    const socket = io(`http://${host}:${ports.at(-1)}`, { ...CLIENT, reconnectionDelay: 100 });
    const say = async (n) => {
      if (!socket.connected) return undefined;
      const said = socket.timeout(ANSWER_TIMEOUT_MS).emitWithAck('publish', { n, at: now() });
      return said.catch(() => undefined);
    };
    announcer = new Announcer(say, 1000 / perSecond);
  },

  /** Ends what the others have begun. @returns the numbers that the server has confirmed */
  async rest() {
    for (const timer of cutting) clearInterval(timer);
    await announcer?.stop();
    return [...(announcer?.confirmed.keys() ?? [])];
  },

  /** Waits until all clients are connected and have heard what was confirmed, or until that takes too long. */
  async found({ confirmed = [] }) {
    const lost = () => crowd.lacking(() => confirmed);
    await crowd.untilConnected(MAX_WAIT_MS);
    await soon(() => lost() === 0, 5000, 500);
    const outages = new Histogram();
    for (const { outage } of crowd.returns) outages.record(outage);
    return {
      lost: lost(),
      repeated: crowd.repeated,
      neverBack: crowd.disconnected,
      returns: crowd.returns.length,
      recovered: crowd.returns.filter(({ isSame }) => isSame).length,
      outages: outages.toJSON(),
    };
  },

  look() {
    const { user, system } = process.cpuUsage();
    const seen = { at: now(), cpu: user + system, counters: { ...counters }, latency: latency.toJSON() };
    latency.reset();
    return seen;
  },
});
process.send({ ready: true });
