import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { Rooms } from '../../../public/gjallar-client.js';
import { routes } from '../../../src/service/api/api.js';
import { connect, connected, disconnectAll, expectOk, nextEvent } from '../../support/clients.js';
import { mariadb, postgres } from '../../support/databases.js';
import { sumOf } from '../../support/metrics.js';
import { DURABLE, RedisProcess } from '../../support/redis.js';
import { type RunningServer, startServer } from '../../support/server.js';
import { SECRET, tokenOf } from '../../support/tokens.js';
import { eventually, until } from '../../support/until.js';

type Answer = Record<string, unknown> & { status: number };
type Shown = { offset: number; text: string; deleted?: true };

const common = { ADMIN_USER: 'ops', ADMIN_PASSWORD: 'secret', JWT_SECRET: SECRET, API_KEY: 'key' };
const operator = { Authorization: `Basic ${Buffer.from('ops:secret').toString('base64')}` };

const tokenFor = (sub: string, claims: object = {}, age = 10) => tokenOf({ sub, ...claims }, { age });

interface Setup {
  servers: RunningServer[];
  remove(): Promise<void>;
}

async function oneMachine(): Promise<Setup> {
  const database = await mariadb();
  const server = await startServer({ ...common, ARCHIVE_URL: database.url });
  return {
    servers: [server],
    remove: async () => {
      await server.stop();
      await database.remove();
    },
  };
}

async function twoMachines(): Promise<Setup> {
  const [redis, database] = await Promise.all([RedisProcess.start(...DURABLE), postgres()]);
  const env = { ...common, REDIS_URL: redis.url, ARCHIVE_URL: database.url, WORKERS: '1' };
  const servers = await Promise.all([startServer(env), startServer(env)]);
  return {
    servers,
    remove: async () => {
      await Promise.all(servers.map((server) => server.stop()));
      await Promise.all([redis.remove(), database.remove()]);
    },
  };
}

describe.each([
  ['SQLite and MariaDB', oneMachine],
  ['Redis and PostgreSQL, on two machines', twoMachines],
])('the operator of a chat with %s', (_name, start) => {
  let setup: Setup;
  let here: RunningServer;
  let there: RunningServer;
  beforeAll(async () => {
    setup = await start();
    here = setup.servers[0]!;
    there = setup.servers.at(-1)!;
  });
  afterEach(disconnectAll);
  afterAll(() => setup?.remove());

  async function call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = operator,
  ): Promise<Answer> {
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const response = await fetch(`${here.url}${path}`, init);
    return { status: response.status, ...((await response.json()) as Record<string, unknown>) };
  }

  async function enter(server: RunningServer, user: string, room: string, token?: string) {
    const socket = connect(server.url, { auth: { token: token ?? (await tokenFor(user)) } });
    await connected(socket);
    expectOk(await socket.emitWithAck('join', room));
    return socket;
  }

  /** The code with which a token is rejected, or `accepted`. */
  async function outcomeOf(server: RunningServer, token: string): Promise<unknown> {
    const client = connect(server.url, { auth: { token }, reconnection: false });
    return connected(client).then(
      () => 'accepted',
      ({ data }: Error & { data?: { code?: string } }) => data?.code,
    );
  }

  const archived = async (count: number) => {
    const urls = setup.servers.map(({ url }) => url);
    await until(async () => (await sumOf(urls, 'gjallar_archive_messages_total', { headers: operator })) >= count);
  };

  test('deletes messages in the store and the archive, and exports those of a user', async () => {
    const ann = await enter(here, 'ann', 'hall');
    const bob = await enter(there, 'bob', 'hall');
    const say = async (socket: typeof ann, text: string) =>
      expectOk(await socket.emitWithAck('message', { room: 'hall', text }));
    for (const text of ['one', 'two']) await say(ann, text);
    await say(bob, 'three');
    await say(ann, 'four');
    expectOk(await ann.emitWithAck('direct', { to: 'bob', text: 'secret' }));
    expectOk(await bob.emitWithAck('direct', { to: 'ann', text: 'answer' }));
    await archived(6);
    expectOk(await ann.emitWithAck('message', { room: 'hall', text: 'five' }));

    const exported = await fetch(`${here.url}/api/users/ann/export`, { headers: operator });
    expect(exported.headers.get('content-type')).toBe('application/x-ndjson');
    const lines = (await exported.text())
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { text?: string });
    expect(lines.at(-1)).toEqual({ end: true, lines: lines.length - 1 });
    expect([...new Set(lines.slice(0, -1).map(({ text }) => text))].sort()).toEqual([
      'answer',
      'five',
      'four',
      'one',
      'secret',
      'two',
    ]);
    const first = {
      room: 'hall',
      from: 'ann',
      text: 'one',
      at: expect.any(Number),
      offset: 1,
      tag: expect.any(Number),
    };
    expect(lines).toContainEqual(first);

    const told = nextEvent(bob, 'deleted');
    const path = '/api/rooms/hall/messages';
    const one = { status: 200, ok: true, offset: 2, tag: expect.any(Number) };
    expect(await call('DELETE', `${path}/2`)).toEqual(one);
    expect(await told).toEqual([{ room: 'hall', ranges: [[2, 2]] }]);
    expect(await call('DELETE', `${path}/2`)).toEqual(one);
    expect(await call('DELETE', `${path}/3?tag=7`)).toMatchObject({ status: 404, code: 'NOT_FOUND' });
    expect(await call('DELETE', `${path}/99`)).toMatchObject({ status: 404, code: 'NOT_FOUND' });
    const page = expectOk(await bob.emitWithAck('history', { room: 'hall', after: 0 }));
    expect(page).toMatchObject({ complete: true, offset: 5 });
    expect((page.messages as Shown[]).map(({ offset, text, deleted }) => [offset, text, deleted])).toEqual([
      [1, 'one', undefined],
      [2, '', true],
      [3, 'three', undefined],
      [4, 'four', undefined],
      [5, 'five', undefined],
    ]);

    // A client that catches up does not wait for what is deleted.
    const late = connect(there.url, { auth: { token: await tokenFor('late') } });
    const texts: string[] = [];
    let isCaughtUp: () => void;
    const caughtUp = new Promise<void>((resolve) => {
      isCaughtUp = resolve;
    });
    let onDeleted: (deleted: object) => void;
    const lateTold = new Promise((resolve) => {
      onDeleted = resolve;
    });
    const rooms = new Rooms(late);
    const onMessage = ({ text }: { text: string }) => texts.push(text);
    await rooms.join('hall', {
      last: 10,
      onMessage,
      onRecovered: () => isCaughtUp(),
      onDeleted: (event) => onDeleted(event),
    });
    await caughtUp;
    expect(texts).toEqual(['one', 'three', 'four', 'five']);

    await archived(7);
    const directTold = nextEvent(bob, 'deleted');
    expect(await call('DELETE', '/api/users/ann/messages')).toMatchObject({ ok: true, deleted: 4, archived: 4 });
    await directTold;
    expect(await lateTold).toMatchObject({ room: 'hall' });
    expect(await call('DELETE', '/api/users/ann/messages')).toMatchObject({ ok: true, deleted: 0, archived: 0 });
    const direct = expectOk(await bob.emitWithAck('history', { with: 'ann', after: 0 }));
    expect((direct.messages as Shown[]).map(({ text }) => text)).toEqual(['', 'answer']);
    const rest = (await (await fetch(`${here.url}/api/users/ann/export`, { headers: operator })).text()).split('\n');
    expect(rest.map((line) => line && (JSON.parse(line) as { text?: string }).text)).toEqual(['answer', undefined, '']);

    expect(await call('DELETE', path)).toMatchObject({ ok: true, offset: 5, deleted: 1, archived: 1 });
    const empty = expectOk(await bob.emitWithAck('history', { room: 'hall', after: 0 }));
    expect(empty).toMatchObject({ complete: true, offset: 5 });
    expect((empty.messages as Shown[]).map(({ text }) => text)).toEqual(['', '', '', '', '']);
    const next = nextEvent<[{ offset: number }]>(bob, 'message');
    await say(ann, 'six');
    expect((await next)[0].offset).toBe(6);
    await until(async () => texts.at(-1) === 'six');
  });

  test('revokes tokens, and the connections with them end on all machines', async () => {
    const marked = await tokenFor('ann', { jti: 'token 1' });
    const ann = await enter(there, 'ann', 'ops', marked);
    // No other test has a client of this name, whose tokens stay revoked.
    const eve = await enter(there, 'eve', 'ops');
    const plain = new WebSocket(`${there.url.replace('http', 'ws')}/ops?token=${await tokenFor('eve')}`);
    await once(plain, 'open');
    const annEnded = Promise.all([nextEvent(ann, 'ended'), nextEvent(ann, 'disconnect')]);
    const revoked = await call('POST', '/api/tokens/revoke', { jti: 'token 1' });
    expect(revoked).toMatchObject({ ok: true, revocation: { id: 'jti:token 1' } });
    const [[ended], [reason]] = await annEnded;
    expect([ended, reason]).toEqual([
      { code: 'TOKEN_REVOKED', message: expect.stringMatching(/revoked the token/) },
      'io server disconnect',
    ]);
    // Another worker may be reached each time, which hears of it a little later.
    await eventually(async () => expect(await outcomeOf(there, marked)).toBe('TOKEN_REVOKED'));
    const bearer = { Authorization: `Bearer ${marked}` };
    await eventually(async () =>
      expect(await call('GET', '/api/rooms/ops/messages', undefined, bearer)).toMatchObject({ code: 'TOKEN_REVOKED' }),
    );
    await enter(there, 'ann', 'ops');

    const eveEnded = Promise.all([nextEvent(eve, 'ended'), once(plain, 'close')]);
    await call('POST', '/api/tokens/revoke', { user: 'eve' });
    const [, [code, text]] = await eveEnded;
    expect([code, String(text)]).toEqual([1008, 'TOKEN_REVOKED']);
    const older = await call('POST', '/api/tokens/revoke', { user: 'eve', before: 1000 });
    expect((older.revocation as { before: number }).before).toBeGreaterThan(1000);
    // A token that was issued later is accepted.
    await enter(there, 'eve', 'ops', await tokenFor('eve', {}, -1));

    await until(async () => {
      const { revocations } = await call('GET', '/api/tokens/revocations');
      return (revocations as unknown[]).length === 2;
    });
    await here.restart();
    // Until a worker has read the list, it accepts no token at all.
    await until(async () => {
      const outcome = await outcomeOf(here, marked);
      expect(outcome).not.toBe('accepted');
      return outcome === 'TOKEN_REVOKED';
    });
    const lifted = { status: 200, ok: true, id: 'jti:token 1' };
    expect(await call('DELETE', '/api/tokens/revocations/jti:token%201')).toEqual(lifted);
    expect(await call('DELETE', '/api/tokens/revocations/jti:token%201')).toEqual(lifted);
    for (const unknown of ['nonsense', 'losses', '%ff']) {
      expect(await call('DELETE', `/api/tokens/revocations/${unknown}`)).toMatchObject({
        status: 404,
        code: 'NOT_FOUND',
      });
    }
    expect(await call('GET', '/api/users/%ff/export')).toMatchObject({ status: 400, code: 'BAD_NAME' });
    await until(async () => (await outcomeOf(there, marked)) === 'accepted');
    expect(await call('POST', '/api/tokens/revoke', {})).toMatchObject({ status: 400, code: 'BAD_INPUT' });
    const future = { before: Date.now() + 3_600_000 };
    expect(await call('POST', '/api/tokens/revoke', future)).toMatchObject({ status: 400, code: 'BAD_INPUT' });
  });

  test('disconnects users and closes rooms, and members learn why', async () => {
    // No client of another test has this name.
    const fay = await enter(there, 'fay', 'bar');
    const carl = await enter(here, 'carl', 'bar');
    const plain = new WebSocket(`${there.url.replace('http', 'ws')}/bar?token=${await tokenFor('dora')}`);
    await once(plain, 'open');
    const closed = Promise.all([nextEvent(fay, 'ended'), nextEvent(carl, 'ended'), once(plain, 'close')]);
    expect(await call('POST', '/api/close-room', { room: 'bar' })).toMatchObject({ removed: 3, complete: true });
    const [[ended], , [code, text]] = await closed;
    expect(ended).toMatchObject({ room: 'bar', code: 'ROOM_CLOSED' });
    expect([code, String(text)]).toEqual([1008, 'ROOM_CLOSED']);
    expect(await fay.emitWithAck('message', { room: 'bar', text: 'x' })).toMatchObject({ code: 'NOT_IN_ROOM' });
    expectOk(await carl.emitWithAck('join', 'bar'));
    const gone = Promise.all([nextEvent(fay, 'ended'), nextEvent(fay, 'disconnect')]);
    const machines = setup.servers.length;
    expect(await call('POST', '/api/disconnect', { user: 'fay' })).toMatchObject({
      disconnected: 1,
      reached: { workers: 2, machines },
      complete: true,
    });
    expect(await gone).toMatchObject([[{ code: 'DISCONNECTED' }], ['io server disconnect']]);
    const line = await here.logged(({ action }) => action === 'close-room');
    expect(line).toMatchObject({
      msg: 'the operator acted',
      operator: 'ops',
      address: '127.0.0.1',
      target: { room: 'bar', namespace: '/' },
      result: { removed: 3 },
    });
  });

  test('is the only one who may do so', async () => {
    // What the holder of API_KEY may do.
    const open = ['GET /api/rooms/{room}/messages', 'POST /api/rooms/{room}/messages', 'GET /api/stats'];
    open.push(...['GET', 'PUT', 'PATCH', 'DELETE'].map((method) => `${method} /api/state/{room}/{key}`));
    const all = Object.entries(routes).flatMap(([path, methods]) =>
      Object.keys(methods).map((one) => `${one} ${path}`),
    );
    for (const one of all.filter((route) => !open.includes(route))) {
      const [method, path] = one.replaceAll(/\{\w+\}/g, '1').split(' ') as [string, string];
      const key = { Authorization: 'Bearer key' };
      const body = method === 'POST' ? {} : undefined;
      expect([path, await call(method, path, body, key)]).toMatchObject([path, { status: 401, code: 'ADMIN_ONLY' }]);
      // A link or a form of another page names no origin. What the operator opens is not from a page.
      for (const site of ['cross-site', 'same-site']) {
        const linked = await call(method, path, body, { ...operator, 'Sec-Fetch-Site': site });
        expect([path, linked]).toMatchObject([path, { status: 403, code: 'ORIGIN_FORBIDDEN' }]);
      }
      const foreign = { ...operator, Origin: 'https://evil.example' };
      const refused = await call(method, path, body, foreign);
      expect([path, refused]).toMatchObject([path, { status: 403, code: 'ORIGIN_FORBIDDEN' }]);
    }
  });
});
