import { setMaxListeners } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** What is asked for in turn: responses with a length, in chunks, and to a body, and a handshake of Engine.IO. */
const KINDS = [
  { path: '/' },
  { path: '/stream' },
  { path: '/', method: 'POST', body: 'x'.repeat(1000) },
  { path: '/socket.io/?EIO=4&transport=polling' },
];
const MIN_GAP_MS = 9900;
const MAX_GAP_MS = 10_100;

export class Tally {
  requests = 0;
  /** The number of failed requests, by what went wrong. */
  failures = new Map();

  get errors() {
    return [...this.failures.values()].reduce((sum, count) => sum + count, 0);
  }

  async send(agent, port) {
    const problem = await problemOf(agent, port, KINDS[this.requests++ % KINDS.length]);
    if (problem) this.failures.set(problem, (this.failures.get(problem) ?? 0) + 1);
  }
}

/** Resolves with what is wrong with the response, or with undefined. */
function problemOf(agent, port, { body, ...options }) {
  return new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, agent, ...options }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode === 200 ? undefined : `status ${response.statusCode}`));
      response.on('error', ({ code }) => resolve(code));
    });
    sent.on('error', ({ code, message }) => resolve(code ?? message)).end(body);
  });
}

/** Clients that each send a request about every 10 s, until `signal` aborts. */
export async function sendRarely(tally, { port, clients, random, signal }) {
  setMaxListeners(0, signal);
  const one = async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const wait = (ms) => sleep(ms, undefined, { signal }).catch(() => {});
    // Their connections grow old at all phases of the server's timer.
    await wait(random() * MAX_GAP_MS);
    while (!signal.aborted) {
      await tally.send(agent, port);
      await wait(MIN_GAP_MS + random() * (MAX_GAP_MS - MIN_GAP_MS));
    }
    agent.destroy();
  };
  await Promise.all(Array.from({ length: clients }, one));
}

/** Sends a number of requests as fast as they are answered. */
export async function sendMany(tally, { port, clients, times }) {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  let left = times;
  const one = async () => {
    while (left-- > 0) await tally.send(agent, port);
  };
  await Promise.all(Array.from({ length: clients }, one));
  agent.destroy();
}
