import { setTimeout as sleep } from 'node:timers/promises';
import { request, upgradeRequest } from '../../../harness/connection.js';
import { filled, many, POLLING, SEPARATOR, WEBSOCKET } from '../attacker/kit.js';
import { BOUNDS } from '../verdict.js';
import { bearer, event, filledRoom, http, member, posts, raw, unread } from './rows.js';

// Requests: pipelines, payloads of many packets, pages of history, handshakes, and what is passed on to another worker.

const page = request('GET', '/api/rooms/filled/messages?limit=1000', bearer);
const SIZE = 477_000;

/** Requests that do not wait for their answers, on one connection or several: small heads, large answers. */
const pipeline = (name, head, open, { connections = 1, size = SIZE, ...more } = {}) => ({
  name: `pipeline: ${name}, ${connections} × ${Math.round(size / 1000)} KB`,
  about: `${Math.floor(size / head.length)} requests of ${head.length} bytes at once, on each connection`,
  run: (attacker) => attacker.floodOn(open, filled(head, size), connections),
  ...more,
});

/** Fills a room with as many users as are named one by one, whose names are as long as they may be. */
async function crowd(attacker) {
  for (let number = 0; number < 100; number++) {
    const auth = { name: `${number}`.padEnd(64, '€') };
    // Nobody is kept out by a limit of connections: half of the members come from another address.
    const connection = await attacker.socket({ auth, address: `127.0.0.${5 + (number % 2)}` });
    connection.write(event('join', 'crowd'));
  }
}

const joined = (count, packet) => `42["join","room"]${SEPARATOR}${many(count, packet)}`;
const pages = many(800, '421["history",{"room":"filled","limit":1000}]');

/** Packets that name something new each time. */
const growing = (name, packetOf, more) => ({
  name: `history: ${name}`,
  about: 'a packet for each',
  run: (attacker) => {
    let next = 0;
    return attacker.again(async () => {
      const connection = await attacker.socket();
      while (await attacker.send(connection, Buffer.concat(Array.from({ length: 50 }, () => packetOf(next++)))));
      connection.end();
    });
  },
  ...more,
});

const CAP_MB = 50;
/** SQLite's log, its index, and what is trimmed in the next round. */
const CAP_SLACK_MB = 50;

/** As many connections as one process may hold, beside what else it needs. */
const MAX_OPEN = 10_000;

/** A session on another worker, as the connection to the worker that is attacked sees it: both work for it. */
async function elsewhere(attacker) {
  const { path, connection } = await attacker.polling({ worker: attacker.other });
  connection.end();
  return { path, connection: await attacker.http() };
}

const both = { bounds: { other: BOUNDS.same } };
const trailers = `2\r\n4a\r\n0\r\nxyGET: ${POLLING} HTTP/1.1\r\nHost: x\r\n\r\n`;

/** @type {import('../attacks.js').Attack[]} */
export const requestAttacks = [
  pipeline('the client, not read', request('GET', '/socket.io/socket.io.js'), unread(http)),
  pipeline('the OpenAPI document', request('GET', '/api/openapi.json'), http, { environment: filledRoom.environment }),
  pipeline('the page of history, not read', page, unread(http), filledRoom),
  pipeline('the page of history, not read', page, unread(http), { ...filledRoom, connections: 3, size: 79_000 }),
  posts('posts: who is in a room of 100 long names, 20,000 times', many(20_000, '421["who","crowd"]'), {
    prepare: crowd,
  }),
  posts('posts: echoes', joined(60_000, '421["echo","x"]')),
  posts('history: 800 pages of 1,000 messages in one POST', pages, { isPolling: false, ...filledRoom }),
  posts('history: 800 pages of 1,000 messages in one POST, polled', pages, filledRoom),
  {
    name: `history: messages of 30 KB, HISTORY_MAX_BYTES of ${CAP_MB} MB`,
    about: 'messages of 10,000 characters of three bytes each, four connections',
    environment: { HISTORY_MAX_BYTES: String(CAP_MB * 1_000_000) },
    bounds: { disk: CAP_MB + CAP_SLACK_MB },
    run: (attacker) =>
      Promise.all(
        ['a', 'b', 'c', 'd'].map((room) => {
          const bytes = filled(event('message', { room, text: '€'.repeat(10_000) }), 120_000);
          return attacker.floodOn(member(room), bytes);
        }),
      ),
  },
  growing('direct messages to new names', (number) => event('direct', { to: `name ${number}`, text: 'x' })),
  growing('unknown rooms that are read', (number) => event('history', { room: `unknown ${number}` }), {
    bounds: { disk: 5 },
  }),
  {
    name: 'handshakes: sessions that are never used',
    about: 'ten handshakes at once, on eight connections',
    run: (attacker) => attacker.asks(request('GET', POLLING), { connections: 8, count: 10 }),
  },
  {
    name: 'handshakes: WebSockets that never say anything',
    about: '1,000 connections a second, which get a byte now and then',
    run: async (attacker) => {
      const connections = [];
      while (!attacker.isOver && connections.length < MAX_OPEN) {
        connections.push((await raw(attacker, upgradeRequest(WEBSOCKET))).discard());
        await sleep(1);
      }
      while (!attacker.isOver) {
        for (const one of connections) if (!one.isClosed) await attacker.send(one, Buffer.from('x'));
        await sleep(500);
      }
    },
  },
  {
    name: 'framing: trailers that look like a request',
    about: 'a body in chunks whose end uWebSockets.js sees elsewhere, on one connection after the other',
    run: (attacker) =>
      attacker.again(async () => {
        const connection = await http(attacker);
        const head = request('POST', `${POLLING}&sid=1.AAAAAAAAAAAAAAAAAAAA`, { 'Transfer-Encoding': 'chunked' });
        await attacker.send(connection, Buffer.concat([head, Buffer.from(trailers)]));
        connection.end();
      }),
  },
  posts('relayed: echoes', many(60_000, '421["echo","x"]'), { open: elsewhere, ...both }),
  {
    name: 'relayed: a pipeline of polls, not read',
    about: 'requests to a worker that passes them on',
    ...both,
    run: (attacker) =>
      attacker.again(async () => {
        const { path, connection } = await elsewhere(attacker);
        await attacker.flood(connection.stopReading(), filled(request('GET', path), SIZE));
        connection.end();
      }),
  },
];
