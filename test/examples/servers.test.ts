import { once } from 'node:events';
import { afterEach, expect, test } from '@jest/globals';
import { io, type ManagerOptions, type Socket, type SocketOptions } from 'socket.io-client';
import { WebSocket } from 'ws';
import { leave, nextEvent } from '../support/clients.js';
import { RedisCluster, RedisProcess } from '../support/redis.js';
import { Example, scriptOf } from './support/example.js';

const sockets: Socket[] = [];
const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) await leave(socket);
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

function example(name: string): Example {
  const one = new Example(name);
  cleanUps.push(() => one.close());
  return one;
}

function client(url: string, options: Partial<ManagerOptions & SocketOptions> = {}): Socket {
  const socket = io(url, { forceNew: true, ...options });
  sockets.push(socket);
  return socket;
}

test('minimal: a room', async () => {
  const url = await example('minimal').serve();
  const [one, two] = [client(url), client(url, { transports: ['websocket'] })];
  const heard = [one, two].map((socket) => nextEvent(socket, 'said'));
  // A client that is in a room of its own before it speaks has joined.
  two.emit('join', 'hall');
  two.emit('join', 'own');
  const joined = nextEvent(two, 'said');
  two.emit('say', 'own', 'in');
  await joined;
  one.emit('join', 'hall');
  one.emit('say', 'hall', 'Hello!');
  expect((await Promise.all(heard))[0]).toEqual(['Hello!']);
});

test('express-sessions: HTTP and socket share a session', async () => {
  const url = await example('express-sessions').serve();
  const first = await fetch(url);
  const cookie = first.headers.get('set-cookie')!.split(';')[0]!;
  expect(await first.json()).toEqual({ visits: 1 });
  const socket = client(url, { extraHeaders: { cookie } });
  expect(await socket.emitWithAck('visits')).toBe(1);
  await (await fetch(url, { headers: { cookie } })).text();
  expect(await socket.emitWithAck('visits')).toBe(2);
  expect(await client(url).emitWithAck('visits')).toBe(0);
});

test('passport-jwt: a token opens HTTP and sockets, and its user is the socket’s', async () => {
  const url = await example('passport-jwt').serve();
  const tokenOf = async (user: string) => {
    const response = await fetch(`${url}/login/${user}`, { method: 'POST' });
    return `Bearer ${((await response.json()) as { token: string }).token}`;
  };
  const [ada, bo] = await Promise.all(['ada', 'bo'].map(tokenOf));
  expect((await fetch(`${url}/me`)).status).toBe(401);
  expect(await (await fetch(`${url}/me`, { headers: { authorization: ada! } })).json()).toEqual({ id: 'ada' });

  const refused = client(url, { transports: ['polling'], reconnection: false });
  expect((await nextEvent<[{ context?: { status: number } }]>(refused, 'connect_error'))[0].context?.status).toBe(401);
  const one = client(url, { extraHeaders: { Authorization: ada! } });
  const two = client(url, { extraHeaders: { Authorization: bo! } });
  expect(await Promise.all([one, two].map((socket) => socket.emitWithAck('me')))).toEqual([
    { id: 'ada' },
    { id: 'bo' },
  ]);
  const told = nextEvent(two, 'told');
  one.emit('tell', 'bo', 'Hello!');
  expect(await told).toEqual(['ada', 'Hello!']);
});

test('fastify: a route speaks to the sockets', async () => {
  const url = await example('fastify').serve();
  const socket = client(url);
  expect(await nextEvent(socket, 'said')).toEqual(['Welcome!']);
  const said = nextEvent(socket, 'said');
  const headers = { 'Content-Type': 'application/json' };
  expect((await fetch(`${url}/say`, { method: 'POST', headers, body: '{"text":"Hello!"}' })).status).toBe(202);
  expect(await said).toEqual(['Hello!']);
});

test('nest: a gateway and a controller', async () => {
  const nest = example('nest');
  const build = nest.spawn(scriptOf('nest', 'build'));
  expect(await once(build.child, 'exit')).toEqual([0, null]);
  const url = await nest.serve({}, ['node', 'dist/main.js']);
  expect(await (await fetch(url)).json()).toEqual({ page: 'home' });
  const [one, two] = [client(url), client(url)];
  await Promise.all([one, two].map((socket) => nextEvent(socket, 'connect')));
  const said = nextEvent(two, 'said');
  expect(await one.emitWithAck('say', 'Hello!')).toBe(6);
  expect(await said).toEqual([one.id, 'Hello!']);
});

test('event-schemas: what a schema rejects reaches no listener, and its client learns why', async () => {
  const schemas = example('event-schemas');
  const build = schemas.spawn(scriptOf('event-schemas', 'build'));
  expect(await once(build.child, 'exit')).toEqual([0, null]);
  const url = await schemas.serve({}, ['node', 'dist/server.js']);
  const socket = client(url);
  const heard: unknown[] = [];
  socket.on('said', (...values) => heard.push(values));

  // valibot, and zod, which adds a default and trims.
  expect(await socket.emitWithAck('join', '')).toEqual({
    ok: false,
    code: 'BAD_INPUT',
    message: 'Invalid length: Expected >=1 but received 0',
  });
  expect(await socket.emitWithAck('join', 'hall')).toEqual({ ok: true });
  expect(await socket.emitWithAck('say', { room: 'hall', text: ' Hello! ', other: 1 })).toEqual({ ok: true });
  const { code, message } = await socket.emitWithAck('say', { room: 'hall', text: '  ', tags: [1] });
  expect([code, message.split('; ').map((issue: string) => issue.split(': ').slice(0, -1))]).toEqual([
    'BAD_INPUT',
    [
      ['text', expect.stringContaining('Too small')],
      ['tags', '0', 'Invalid input'],
    ],
  ]);
  for (const values of [[], [null], [{ room: 'hall', text: 'x' }, 'more'], [{ __proto__: null }]]) {
    expect(await socket.emitWithAck('say', ...values)).toMatchObject({ ok: false, code: 'BAD_INPUT' });
  }

  // Without an acknowledgement; and an event that is a member of every object has no schema.
  const rejected = nextEvent(socket, 'rejected');
  socket.emit('say', 7);
  expect(await rejected).toEqual([
    'say',
    { ok: false, code: 'BAD_INPUT', message: expect.stringContaining('expected object') },
  ]);
  socket.emit('constructor', 1);
  socket.emit('say', { room: 'hall', text: 'Last', tags: ['x'] });
  while (heard.length < 2) await nextEvent(socket, 'said');
  expect(heard).toEqual([
    ['Hello!', []],
    ['Last', ['x']],
  ]);
});

test('several-workers: a room on four workers', async () => {
  const url = await example('several-workers').serve({ DRAIN_TIMEOUT: '0' });
  // The primary prints nothing itself; the others may still be starting.
  const workers = new Set<number>();
  const members: Socket[] = [];
  while (workers.size < 4) {
    const socket = client(url, { transports: ['websocket'] });
    const { worker } = await socket.emitWithAck('join', 'hall');
    if (workers.has(worker)) socket.disconnect();
    else members.push(socket);
    workers.add(worker);
  }
  const heard = members.map((socket) => nextEvent(socket, 'said'));
  members[0]!.emit('say', 'hall', 'Hello!');
  expect(await Promise.all(heard)).toEqual(members.map(() => ['Hello!']));
  expect(await members[3]!.emitWithAck('count', 'hall')).toBeGreaterThanOrEqual(4);
});

test('redis: a room on two processes', async () => {
  const redis = await RedisProcess.start();
  cleanUps.push(() => redis.stop());
  const servers = example('redis');
  // The example ends before its Redis.
  cleanUps.reverse();
  const urls = [await servers.serve({ REDIS_URL: redis.url }), await servers.serve({ REDIS_URL: redis.url })];
  const [one, two] = urls.map((url) => client(url)) as [Socket, Socket];
  await Promise.all([one, two].map((socket) => socket.emitWithAck('join', 'hall')));
  const said = nextEvent(two, 'said');
  one.emit('say', 'hall', 'Hello!');
  expect(await said).toEqual(['Hello!']);
});

test('redis-cluster: a room on four workers of two servers', async () => {
  const cluster = await RedisCluster.start();
  const servers = example('redis-cluster');
  cleanUps.push(() => cluster.remove());
  const env = { GJALLAR_REDIS_URL: cluster.url, DRAIN_TIMEOUT: '0' };
  const urls = await Promise.all([servers.serve(env), servers.serve(env)]);
  const [one, two] = urls.map((url) => client(url)) as [Socket, Socket];
  await Promise.all([one, two].map((socket) => socket.emitWithAck('join', 'hall')));
  const said = nextEvent(two, 'said');
  one.emit('say', 'hall', 'Hello!');
  expect(await said).toEqual(['Hello!']);
  expect(await one.emitWithAck('count', 'hall')).toBe(2);
});

test('market-data: a client that stops reading costs the others nothing, and is then brought up to date', async () => {
  const url = await example('market-data').serve({ ROUND_MS: '2' });
  type Quote = { round: number; price: number };
  const fast = client(url, { transports: ['websocket'] });
  const slow = client(url, { transports: ['websocket'] });
  const sizes = await Promise.all(
    [fast, slow].map(async (socket) => {
      const complete = new Promise<number>((resolve) => {
        const symbols = new Set<string>();
        socket.on('quotes', (changes: [string, Quote][], { more }: { more?: true }) => {
          for (const [symbol] of changes) symbols.add(symbol);
          if (!more) resolve(symbols.size);
        });
      });
      await socket.emitWithAck('state:join', { room: 'quotes' });
      return complete;
    }),
  );
  expect(sizes).toEqual([500, 500]);

  const raw = (slow.io.engine.transport as unknown as { ws: { pause(): void; resume(): void } }).ws;
  raw.pause();
  const roundsOf = (socket: typeof fast): number[] => {
    const rounds: number[] = [];
    socket.on('quotes', (changes: [string, Quote][]) => {
      for (const [symbol, { round }] of changes) if (symbol === 'S0') rounds.push(round);
    });
    return rounds;
  };
  const fastRounds = roundsOf(fast);
  const slowRounds = roundsOf(slow);
  while ((await fast.emitWithAck('stats')).behind === 0) await nextEvent(fast, 'quotes');
  for (let i = 0; i < 20; i++) await nextEvent(fast, 'quotes');

  const last = fastRounds.at(-1)!;
  const upToDate = new Promise<void>((resolve) => {
    slow.on('quotes', () => slowRounds.at(-1)! >= last && resolve());
  });
  raw.resume();
  await upToDate;
  // It has skipped prices instead of receiving all of them late, and has not seen one go back.
  expect(slowRounds.filter((round) => round <= last).length).toBeLessThan(
    fastRounds.filter((round) => round <= last).length,
  );
  expect(slowRounds).toEqual([...slowRounds].sort((a, b) => a - b));
  expect(slow.connected).toBe(true);
});

test('event-stream: sockets and streams get the news, and the drain dismisses streams too', async () => {
  const streaming = example('event-stream');
  const url = await streaming.serve();
  const streams = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const { body } = await fetch(`${url}/news`);
      const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
      const read = async (until: string) => {
        let text = '';
        for (;;) {
          const { done, value } = await reader.read();
          text += value ?? '';
          if (done || text.includes(until)) return { done, text };
        }
      };
      await read('Welcome!');
      return read;
    }),
  );
  const socket = client(url);
  const news = nextEvent(socket, 'news');
  socket.emit('publish', 'Hello!');
  expect(await news).toEqual(['Hello!']);
  for (const read of streams) expect((await read('Hello!')).done).toBe(false);
  // With streams that nobody dismisses, it would wait for the end of DRAIN_TIMEOUT, and cut them off.
  const ended = Promise.all(streams.map((read) => read('never')));
  await streaming.close();
  cleanUps.pop();
  for (const { text } of await ended) expect(text).toBe('event: moved\ndata: Connect again.\n\n');
});

test.each(['native', 'portable'])('plain-prices: a route and WebSockets, on %s sockets', async (sockets) => {
  const url = (await example('plain-prices').serve({ GJALLAR_SOCKETS: sockets })).replace('localhost', '127.0.0.1');
  const put = async (symbol: string, body: string) => {
    const response = await fetch(`${url}/prices/${symbol}`, { method: 'PUT', body });
    return [response.status, ((await response.json()) as { code?: string }).code];
  };
  expect(await put('AAPL', '187.1')).toEqual([200, undefined]);
  expect(await put('AAPL', '"much"')).toEqual([400, 'BAD_INPUT']);
  expect(await put('AAPL', '{')).toEqual([400, 'BAD_JSON']);
  expect(await put('apple', '1')).toEqual([404, 'NOT_FOUND']);
  expect((await fetch(`${url}/prices/AAPL`)).status).toBe(405);
  const lists = await Promise.all([1, 2, 3].map(() => fetch(`${url}/prices`).then((response) => response.json())));
  expect(lists).toEqual([1, 2, 3].map(() => ({ ok: true, prices: { AAPL: 187.1 } })));
  const socket = new WebSocket(`${url.replace('http', 'ws')}/prices/AAPL`);
  cleanUps.push(() => socket.terminate());
  const heard: string[] = [];
  socket.on('message', (data) => heard.push(String(data)));
  await once(socket, 'message');
  await put('MSFT', '1');
  const next = once(socket, 'message');
  await put('AAPL', '187.2');
  await next;
  expect(heard).toEqual(['187.1', '187.2']);
  const closed = once(socket, 'close');
  socket.send('Hello?');
  expect(String((await closed)[1])).toBe('BAD_INPUT');
});

test('own-protocol: each reader of a board gets its notices, in order, also those of before', async () => {
  const url = await example('own-protocol').serve();
  const [ada, ben] = [client(url, { auth: { name: 'Ada' } }), client(url)];
  const board = 'board:lost';
  expect(await ada.emitWithAck('pin', { board, text: 'Too early' })).toMatchObject({ code: 'NOT_IN_ROOM' });
  expect(await ada.emitWithAck('open', { board: 'hall' })).toMatchObject({ code: 'BAD_ROOM' });
  expect(await ada.emitWithAck('open', { board })).toMatchObject({ ok: true, offset: 0 });
  expect(await ada.emitWithAck('pin', { board, text: 'A red scarf' })).toMatchObject({ ok: true, offset: 1 });
  expect(await ben.emitWithAck('open', { board })).toMatchObject({ ok: true, offset: 1 });
  const heard = nextEvent(ben, 'notice');
  await ada.emitWithAck('pin', { board, text: 'It is mine' });
  expect(await heard).toMatchObject([board, { from: 'Ada', text: 'It is mine', offset: 2 }]);
  const notices = [{ text: 'A red scarf' }, { text: 'It is mine' }];
  expect(await ben.emitWithAck('read', { board, after: 0 })).toMatchObject({ ok: true, complete: true, notices });
});

test('upper-case: a welcome, and answers over polling and WebSockets', async () => {
  const url = (await example('upper-case').serve()).replace('localhost', '127.0.0.1');
  for (const transport of ['polling', 'websocket']) {
    const socket = client(url, { transports: [transport] });
    const [welcome] = await nextEvent<[string]>(socket, 'welcome');
    expect(welcome).toBe(`Welcome, ${socket.id}!`);
    socket.emit('message', 'thirty characters, more or less');
    expect(await nextEvent(socket, 'message')).toEqual(['THIRTY CHARACTERS, MORE OR LESS']);
  }
  const response = await fetch(`${url}/scenario`);
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(await response.json()).toMatchObject({ everySeconds: 25 });
});
