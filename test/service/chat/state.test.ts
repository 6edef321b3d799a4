import { once } from 'node:events';
import { createRequire } from 'node:module';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { StateMap } from '../../../public/gjallar-client.js';
import { type ErrorCode, errorCodes } from '../../../src/base/errors.js';
import { type ChatClient, connect, connected, disconnectAll, expectOk, workersOf } from '../../support/clients.js';
import { RedisProcess } from '../../support/redis.js';
import { type RunningServer, sharedServer, startServer } from '../../support/server.js';
import { follow, PlainState, StateApi } from './support/states.js';

const { sign } = createRequire(import.meta.url)('jsonwebtoken') as { sign(claims: object, secret: string): string };
const API_KEY = 'a-key-of-the-test';
const STATE_ROOMS = 'quotes/å?,turns,return,a, b,r1,r2';

afterEach(() => {
  disconnectAll();
  PlainState.closeAll();
});

/** Clients on each of these servers, and on both workers of the first. */
async function clientsOf(servers: readonly RunningServer[], options: Parameters<typeof connect>[1] = {}) {
  const [first, ...others] = servers.map(({ url }) => Array.from({ length: 4 }, () => connect(url, options)));
  await Promise.all([...first!, ...others.flat()].map(connected));
  // The system may have given all of them to one worker.
  while (new Set(await workersOf(first!)).size < 2) {
    const another = connect(servers[0]!.url, options);
    await connected(another);
    first!.push(another);
  }
  return [...first!, ...others.flat()];
}

describe.each([
  ['two workers', 1],
  ['two machines', 2],
])('state rooms on %s', (_name, machines) => {
  let redis: RedisProcess | undefined;
  let servers: RunningServer[];
  let apis: StateApi[];

  beforeAll(async () => {
    if (machines > 1) redis = await RedisProcess.start();
    const more: Record<string, string> = redis ? { REDIS_URL: redis.url } : {};
    servers = await Promise.all(
      Array.from({ length: machines }, (_, machine) =>
        startServer({ API_KEY, STATE_ROOMS, WORKERS: machine === 0 ? '2' : '1', ...more }),
      ),
    );
    apis = servers.map(({ url }) => new StateApi(url, API_KEY));
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    await redis?.remove();
  });

  test('are the same for clients of Socket.IO, of plain WebSockets and of HTTP, who come before, between and after', async () => {
    const room = 'quotes/å?';
    const early = (await clientsOf(servers)).map((client) => follow(client, room));
    const plain = servers.map(({ url }) => PlainState.follow(url, room));
    await Promise.all([...early, ...plain].map((map) => map.until(({ size }) => size === 0)));

    await apis[0]!.put(room, 'AAPL', { bid: 187.1, ask: 187.2 });
    await apis.at(-1)!.put(room, 'a/b?', [1, 'ü', null]);
    await apis[0]!.put(room, 'gone', 0);
    await Promise.all([...early, ...plain].map((map) => map.until(({ size }) => size === 3)));
    await apis.at(-1)!.patch(room, 'AAPL', { bid: 187.15 });
    await apis.at(-1)!.patch(room, 'new', { is: true });
    expect(await apis[0]!.delete(room, 'gone')).toEqual({ ok: true, deleted: true });
    const late = (await clientsOf(servers, { transports: ['polling'] })).map((client) => follow(client, room));
    const latePlain = servers.map(({ url }) => PlainState.follow(url, room));

    const expected = { AAPL: { bid: 187.15, ask: 187.2 }, 'a/b?': [1, 'ü', null], new: { is: true } };
    for (const map of [...early, ...plain, ...late, ...latePlain]) await map.equals(expected);
    const again = PlainState.follow(servers.at(-1)!.url, room, { version: latePlain.at(-1)!.version! });
    await apis[0]!.put(room, 'last', 1);
    await again.until((values) => values.get('last') === 1);
    expect(again.messages.some(({ meta }) => meta.snapshot)).toBe(false);
    await apis[0]!.delete(room, 'last');
    for (const api of apis) {
      for (const [key, value] of Object.entries(expected))
        expect(await api.get(room, key)).toEqual({ ok: true, value });
      expect(await api.get(room, 'gone')).toMatchObject({ ok: false, code: 'NOT_FOUND' });
    }
    expect(await apis[0]!.delete(room, 'gone')).toEqual({ ok: true, deleted: false });
  });

  test('change and read what another worker has just changed', async () => {
    const room = 'turns';
    const one = () => apis[0]!;
    const other = () => apis.at(-1)!;
    const wrong: unknown[] = [];
    for (let turn = 0; turn < 40; turn++) {
      const key = `${turn}`;
      await one().put(room, key, { a: 1 });
      await other().patch(room, key, { b: 2 });
      await one().patch(room, key, { c: 3 });
      const { value } = await other().get(room, key);
      const { deleted } = await one().delete(room, key);
      if (JSON.stringify([value, deleted]) !== '[{"a":1,"b":2,"c":3},true]') wrong.push([key, value, deleted]);
    }
    expect(wrong).toEqual([]);
  });
});

describe('one server', () => {
  let api: StateApi;
  const limits = { STATE_MAX_KEYS: '5', STATE_MAX_BYTES: '2000', MAX_PAYLOAD: '1024' };

  const server = sharedServer({ API_KEY, STATE_ROOMS, WORKERS: '1', ...limits });
  beforeAll(() => {
    api = new StateApi(server.url, API_KEY);
  });
  afterEach(async () => {
    for (const room of ['a', 'b']) {
      for (const key of ['k', 'l', 'n', '1', '2', '3', '4', '__proto__']) await api.delete(room, key);
    }
  });

  const watching = async (input: unknown, client = connect(server.url)) => {
    await connected(client);
    return client.emitWithAck('watch', input as never);
  };

  test('has the rooms that STATE_ROOMS names, and the one of the demo page', async () => {
    expect(await api.put('b', 'k', 1)).toEqual({ ok: true });
    const client = connect(server.url);
    expect(await watching({ room: 'demo quotes' }, client)).toMatchObject({ ok: true });
    const unknown = { ok: false, code: 'NOT_FOUND', message: expect.stringContaining('STATE_ROOMS') };
    expect(await watching({ room: 'c' }, client)).toEqual(unknown);
    expectOk(await client.emitWithAck('unwatch', 'c'));
    for (const answer of [api.put('c', 'k', 1), api.patch('c', 'k', {}), api.delete('c', 'k'), api.get('c', 'k')]) {
      expect(await answer).toEqual(unknown);
    }
  });

  test('sends a client no changes once the last map of a room is closed', async () => {
    const client = connect(server.url);
    await connected(client);
    const received: unknown[] = [];
    const sent: unknown[] = [];
    client.onAny((event) => received.push(event));
    client.onAnyOutgoing((...event) => sent.push(event.slice(0, 2)));
    const open = async () => {
      const map = new StateMap(client, 'a', { watch: 'watch' });
      await new Promise((resolve) => map.on('change', resolve));
      return map;
    };
    const maps = [await open(), await open()];
    // It knows no more of the room than its name when it is closed.
    new StateMap(client, 'a', { watch: 'watch' }).close();
    maps[0]!.close();
    maps[0]!.close();
    const changed = new Promise<void>((resolve) => maps[1]!.on('change', () => maps[1]!.get('k') === 1 && resolve()));
    await api.put('a', 'k', 1);
    await changed;
    expect(sent).not.toContainEqual(['unwatch', 'a']);
    const witness = follow(connect(server.url), 'a');
    await witness.equals({ k: 1 });

    maps[1]!.close();
    await client.emitWithAck('echo', 'the server has read what came before');
    received.length = 0;
    await api.put('a', 'k', 2);
    await witness.equals({ k: 2 });
    await client.emitWithAck('echo', 'fence');
    expect(received).toEqual([]);
    expect([...maps[1]!]).toEqual([['k', 1]]);
    expect((await open()).get('k')).toBe(2);
  });

  test('bounds keys and bytes of each room', async () => {
    for (let key = 0; key < 5; key++) expect(await api.put('b', `${key}`, 1)).toEqual({ ok: true });
    expect(await api.put('b', '5', 1)).toMatchObject({ code: 'STATE_FULL' });
    expect(await api.put('b', '4', 2)).toEqual({ ok: true });
    for (const key of ['k', 'l']) expect(await api.put('a', key, 'x'.repeat(970))).toEqual({ ok: true });
    expect(await api.put('a', 'n', 'x'.repeat(100))).toMatchObject({ code: 'STATE_FULL' });
    expect(await api.put('a', 'k', 'y'.repeat(980))).toEqual({ ok: true });
    expect(await api.put('a', 'k', 'y'.repeat(1200))).toMatchObject({ code: 'BODY_TOO_LARGE' });
    await api.delete('b', '0');
  });

  test.each<[ErrorCode, string, string, unknown]>([
    ['BAD_ROOM', '%0a', 'k', 1],
    ['BAD_ROOM', 'x'.repeat(129), 'k', 1],
    ['BAD_STATE_KEY', 'a', 'x'.repeat(257), 1],
    ['BAD_STATE_KEY', 'a', '%ff', 1],
    ['BAD_JSON', 'a', 'k', undefined],
  ])('answers %s to PUT /api/state/%s/%s', async (code, room, key, value) => {
    const response = await fetch(`${server.url}/api/state/${room}/${key}`, {
      method: 'PUT',
      headers: { Authorization: `Bearer ${API_KEY}` },
      body: JSON.stringify(value) as string,
    });
    expect({ status: response.status, body: await response.json() }).toMatchObject({
      status: errorCodes[code].status,
      body: { ok: false, code },
    });
  });

  test.each(['PUT', 'PATCH'])('rejects a number to %s that would become null', async (method) => {
    const url = `${server.url}/api/state/a/${method}`;
    const headers = { Authorization: `Bearer ${API_KEY}` };
    const response = await fetch(url, { method, headers, body: '{"n":[-1e999]}' });
    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 400,
      body: { ok: false, code: 'BAD_STATE_VALUE', message: expect.stringContaining('too large') },
    });
  });

  test('patches objects alone', async () => {
    await api.put('a', 'n', 5);
    expect(await api.patch('a', 'n', { x: 1 })).toMatchObject({ code: 'BAD_STATE_VALUE' });
    expect(await api.patch('a', 'n', [1])).toMatchObject({ code: 'BAD_INPUT' });
    await api.put('a', '__proto__', { x: 1 });
    expect((await api.get('a', 'n')).value).toBe(5);
    expect((await api.get('a', '__proto__')).value).toEqual({ x: 1 });
  });

  test.each<[ErrorCode, unknown]>([
    ['BAD_INPUT', undefined],
    ['BAD_INPUT', 'a'],
    ['BAD_ROOM', {}],
    ['BAD_ROOM', { room: 'x'.repeat(129) }],
    ['BAD_INPUT', { room: 'a', maxRate: 0 }],
    ['BAD_INPUT', { room: 'a', maxRate: '1' }],
  ])('answers %s to watch %j', async (code, input) => {
    expect(await watching(input)).toMatchObject({ ok: false, code });
  });

  test('ends plain WebSockets that send something, or ask for what is not there', async () => {
    const plain = PlainState.follow(server.url, 'a');
    await plain.until(() => true);
    plain.socket.send('');
    plain.socket.send('hello');
    const [code, reason] = (await once(plain.socket, 'close')) as [number, Buffer];
    expect([code, reason.toString()]).toEqual([1008, 'BAD_INPUT']);
    for (const [path, status] of [
      ['/api/state/', 404],
      ['/api/state/a/b', 404],
      ['/api/state/c', 404],
      ['/api/state/a?maxRate=x', 400],
    ] as const) {
      const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`);
      socket.on('error', () => {});
      const [, response] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }];
      expect({ path, status: response.statusCode }).toEqual({ path, status });
    }
  });
});

describe('a server with tokens', () => {
  const JWT_SECRET = 'a secret of the test that is long enough';

  const server = sharedServer({ API_KEY, JWT_SECRET, STATE_ROOMS, WORKERS: '1' });

  test('tokens allow reading where they allow joining, and changing where they allow publishing', async () => {
    const issue = (rooms: object, more: object = {}) => sign({ sub: 'ada', rooms, ...more }, JWT_SECRET);
    const publisher = new StateApi(server.url, issue({ join: ['r*'], publish: ['r1'] }));
    expect(await publisher.put('r1', 'k', 1)).toEqual({ ok: true });
    expect(await publisher.put('r2', 'k', 1)).toMatchObject({ code: 'ROOM_FORBIDDEN' });
    expect(await publisher.patch('r2', 'k', {})).toMatchObject({ code: 'ROOM_FORBIDDEN' });
    expect(await publisher.delete('r2', 'k')).toMatchObject({ code: 'ROOM_FORBIDDEN' });
    // Whether there is such a room or not.
    for (const room of ['a', 's']) expect(await publisher.get(room, 'k')).toMatchObject({ code: 'ROOM_FORBIDDEN' });
    expect(await publisher.get('r2', 'k')).toMatchObject({ code: 'NOT_FOUND' });
    expect(await new StateApi(server.url, 'x').get('r1', 'k')).toMatchObject({ code: 'TOKEN_INVALID' });

    const client: ChatClient = connect(server.url, { auth: { token: issue({ join: ['r1'] }) } });
    await connected(client);
    expect(await client.emitWithAck('watch', { room: 'r2' })).toMatchObject({ code: 'ROOM_FORBIDDEN' });
    const map = follow(client, 'r1');
    const witness = PlainState.follow(server.url, 'r1', { token: issue({ join: ['r1'] }) });
    await Promise.all([map.equals({ k: 1 }), witness.equals({ k: 1 })]);
    const refused = new WebSocket(`${server.url.replace('http', 'ws')}/api/state/r1?token=${issue({ join: [] })}`);
    refused.on('error', () => {});
    const [, response] = (await once(refused, 'unexpected-response')) as [unknown, { statusCode: number }];
    expect(response.statusCode).toBe(403);

    // A new token with fewer rights ends what it does not allow.
    expectOk(await client.emitWithAck('token', issue({ join: ['other'] })));
    await publisher.put('r1', 'k', 2);
    await witness.equals({ k: 2 });
    await client.emitWithAck('echo', 'fence');
    expect(map.values.get('k')).toBe(1);
    const short = PlainState.follow(server.url, 'r1', {
      token: issue({ join: ['r1'] }, { exp: Math.floor(Date.now() / 1000) + 3 }),
    });
    const [code, reason] = (await once(short.socket, 'close')) as [number, Buffer];
    expect([code, reason.toString()]).toEqual([1008, 'TOKEN_EXPIRED']);
  });
});
