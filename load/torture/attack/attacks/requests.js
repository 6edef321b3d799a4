import { setTimeout as sleep } from 'node:timers/promises';
import { request, upgradeRequest } from '../../../harness/connection.js';
import { filled, many, POLLING, SEPARATOR, text, WEBSOCKET } from '../attacker/kit.js';
import { BOUNDS } from '../verdict.js';
import { asks, bearer, early, event, filledRoom, flood, http, member, posts, probed, raw, unread } from './rows.js';

// Requests: pipelines, payloads of many packets, pages of history, handshakes, and what is passed on to another worker.

const handshake = request('GET', POLLING);
const page = request('GET', '/api/rooms/filled/messages?limit=1000', bearer);
const noSession = (worker) => request('GET', `${POLLING}&sid=${worker}.AAAAAAAAAAAAAAAAAAAA`);

const SIZE = 477_000;
const PART = 79_000;

/** Requests that do not wait for their answers, on one connection or several: small heads, large answers. */
const pipeline = (name, head, isReading, connections = 1, size = SIZE) => ({
  name: `pipeline: ${name}, ${connections} × ${Math.round(size / 1000)} KB, a client that ${isReading ? 'reads' : 'does not read'}`,
  about: `${Math.floor(size / head.length)} requests of ${head.length} bytes at once, on each connection`,
  ...(head === page ? filledRoom : { environment: filledRoom.environment }),
  run: (attacker) => attacker.floodOn(isReading ? http : unread(http), filled(head, size), connections),
});

const sourceMap = request('GET', '/socket.io/socket.io.js.map');
const pipelines = Object.entries({
  'the source map of the client': sourceMap,
  'the client': request('GET', '/socket.io/socket.io.js'),
  'the largest static file': request('GET', '/style.css'),
  'the OpenAPI document': request('GET', '/api/openapi.json'),
  metrics: request('GET', '/metrics'),
  statistics: request('GET', '/api/stats'),
  'the page of history': page,
  'polling handshakes': handshake,
  'paths that are not there': request('GET', '/no/such/path'),
  'sessions that are not there': noSession(1),
}).flatMap(([name, head]) => [pipeline(name, head, false), pipeline(name, head, true)]);

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
const historyPage = '421["history",{"room":"filled","limit":1000}]';

/** Many packets in one POST: one read of the server, and much to do. */
const payloads = [
  ...['2', '3', '4', '6', ''].map((packet) =>
    posts(`engine: POSTs of ${JSON.stringify(packet)} alone`, many(499_999, packet)),
  ),
  posts('posts: who is in a room of 100 long names, 20,000 times', many(20_000, '421["who","crowd"]'), {
    prepare: crowd,
  }),
  posts('posts: echoes', joined(60_000, '421["echo","x"]')),
  posts('posts: echoes, never polled', joined(60_000, '421["echo","x"]'), { isPolling: false }),
  posts('posts: messages', joined(20_000, '42["message",{"room":"room","text":"spam"}]')),
  posts('posts: messages with acknowledgements', joined(20_000, '421["message",{"room":"room","text":"x"}]')),
  posts('posts: a room that is joined and left', joined(20_000, `42["join","b"]${SEPARATOR}42["leave","b"]`)),
  posts('history: 800 pages of 1,000 messages in one POST', many(800, historyPage), {
    isPolling: false,
    ...filledRoom,
  }),
  posts('history: 800 pages of 1,000 messages in one POST, polled', many(800, historyPage), filledRoom),
];

/** Packets that name something new each time. */
const growing = (name, about, packetOf, more) => ({
  name: `history: ${name}`,
  about,
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

const appends = (name, more) => ({
  name: `history: messages of 30 KB${name}`,
  about: 'messages of 10,000 characters of three bytes each, four connections',
  run: (attacker) =>
    Promise.all(
      ['a', 'b', 'c', 'd'].map((room) => {
        const bytes = filled(event('message', { room, text: '€'.repeat(10_000) }), 120_000);
        return attacker.floodOn(member(room), bytes);
      }),
    ),
  ...more,
});

const CAP_MB = 50;
/** SQLite's log, its index, and what is trimmed in the next round. */
const CAP_SLACK_MB = 50;

/** What the server reads and keeps for a client. */
const history = [
  flood(
    'history: pages of 1,000 messages on a WebSocket that does not read',
    unread((attacker) => attacker.socket()),
    filled(text(historyPage), 32_000),
    filledRoom,
  ),
  appends(''),
  appends(`, HISTORY_MAX_BYTES of ${CAP_MB} MB`, {
    environment: { HISTORY_MAX_BYTES: String(CAP_MB * 1_000_000) },
    bounds: { disk: CAP_MB + CAP_SLACK_MB },
  }),
  growing('direct messages to new names', 'a conversation for each message', (number) =>
    event('direct', { to: `name ${number}`, text: 'x' }),
  ),
  growing(
    'unknown rooms that are read',
    'reads must not create anything',
    (number) => event('history', { room: `unknown ${number}` }),
    { bounds: { disk: 5 } },
  ),
  growing('rooms that are new, joined and left', 'a room for each', (number) =>
    Buffer.concat([event('join', `new ${number}`), event('leave', `new ${number}`)]),
  ),
];

/** As many as one process may hold, beside what else it needs. */
const MAX_OPEN = 10_000;

/** Connections that are opened a thousand times a second, and get a byte now and then, so that no head is too slow. */
const opened = (name, bytesOf) => ({
  name: `handshakes: ${name}`,
  about: `${String(bytesOf()).split('\r')[0]}, 1,000 connections a second`,
  run: async (attacker) => {
    const connections = [];
    while (!attacker.isOver && connections.length < MAX_OPEN) {
      connections.push((await raw(attacker, bytesOf())).discard());
      await sleep(1);
    }
    while (!attacker.isOver) {
      for (const connection of connections) if (!connection.isClosed) await attacker.send(connection, Buffer.from('x'));
      await sleep(500);
    }
  },
});

const secret = { environment: { JWT_SECRET: 'a secret of more than thirty-two bytes' } };
const encoded = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
const token = `${encoded({ alg: 'HS256' })}.${encoded({ sub: 'x' })}.AAAA`;
const upgrade = upgradeRequest(WEBSOCKET);
const EIGHT = { connections: 8 };

/** Clients that come, and never get as far as being one. */
const handshakes = [
  asks('handshakes: sessions that are never used', handshake, { ...EIGHT, count: 10 }),
  opened('WebSockets that never say anything', () => upgrade),
  opened('upgrades without an end', () => upgrade.subarray(0, -2)),
  opened('heads that come byte by byte', () => Buffer.from('GET / HTTP/1.1\r\nHost: x\r\nX: ')),
  opened('plain WebSockets', () => upgradeRequest(`/room${Math.random()}`)),
  flood('handshakes: guesses of tokens, WebSocket', early, filled(text(`40${JSON.stringify({ token })}`)), secret),
  asks(
    'handshakes: guesses of tokens, HTTP',
    request('GET', '/api/rooms/a/messages', { Authorization: `Bearer ${token}` }),
    EIGHT,
    secret,
  ),
  asks('handshakes: guesses of tokens, plain WebSocket', upgradeRequest(`/room?token=${token}`), EIGHT, secret),
];

const chunked = `POST ${POLLING}&sid=1.AAAAAAAAAAAAAAAAAAAA HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`;

/** Bodies in chunks whose ends a proxy and uWebSockets.js could see in different places; by name, what follows the head. */
const framing = Object.entries({
  'trailers that look like a request': `2\r\n4a\r\n0\r\nxyGET: ${POLLING} HTTP/1.1\r\nHost: x\r\n\r\n`,
  'trailers that announce a body': `2\r\n4a\r\n0\r\nxyPOST: ${POLLING} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n`,
  'extensions of chunks': '2;a=b\r\n4a\r\n0\r\n\r\n',
  'chunks with wrong ends': `2\r\n4aXX0\r\nXX${handshake.toString('latin1')}`,
  'requests after a body in chunks': `2\r\n4a\r\n0\r\n\r\n${handshake.toString('latin1').repeat(20)}`,
}).map(([name, body]) => ({
  name: `framing: ${name}`,
  about: `${JSON.stringify(body.slice(0, 60))} in chunks, on one connection after the other`,
  run: (attacker) =>
    attacker.again(async () => {
      const connection = await http(attacker);
      await attacker.send(connection, Buffer.from(chunked + body, 'latin1'));
      connection.end();
    }),
}));

/** A session on another worker, as the connection to the worker that is attacked sees it: both work for it. */
async function elsewhere(attacker) {
  const { path, connection } = await attacker.polling({ worker: attacker.other });
  connection.end();
  return { path, connection: await attacker.http() };
}

const both = { bounds: { other: BOUNDS.same } };
const relayedPost = (name, body) => posts(`relayed: ${name}`, body, { open: elsewhere, ...both });
/** A pipeline on a connection that does not read, each time with the head that `headOf` makes. */
const relayedPipeline = (name, headOf) => ({
  name: `relayed: ${name}`,
  about: 'requests to a worker that passes them on',
  ...both,
  run: (attacker) =>
    attacker.again(async () => {
      const { head, connection } = await headOf(attacker);
      await attacker.flood(connection.stopReading(), filled(head, SIZE));
      connection.end();
    }),
});

const relayed = [
  relayedPost('an event of 62,000 arguments', `42["z"${',0'.repeat(62_000)}]`),
  relayedPost('packets of one character', many(499_999, '3')),
  relayedPost('messages', `42["join","a"]${SEPARATOR}${many(20_000, '42["message",{"room":"a","text":"spam"}]')}`),
  relayedPost('echoes', many(60_000, '421["echo","x"]')),
  flood('relayed: probes of an upgrade that is never finished', probed('other'), filled(text('2probe')), both),
  relayedPipeline('a pipeline of polls, a client that does not read', async (attacker) => {
    const { path, connection } = await elsewhere(attacker);
    return { head: request('GET', path), connection };
  }),
  relayedPipeline('a pipeline for sessions that are not there', async (attacker) => ({
    head: noSession(attacker.other),
    connection: await attacker.http(),
  })),
];

/** @type {import('../attacks.js').Attack[]} */
export const requestAttacks = [
  ...pipelines,
  pipeline('the source map of the client', sourceMap, false, 3, PART),
  pipeline('the page of history', page, false, 3, PART),
  ...payloads,
  ...history,
  ...handshakes,
  ...framing,
  ...relayed,
];
