import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { routes } from '../../../src/service/api/api.js';
import { handlers } from '../../../src/service/chat/handlers/index.js';
import { type ChatClient, connect, connected, disconnectAll, expectOk } from '../../support/clients.js';
import { type ServiceHere as RunningServer, startServiceHere as startServer } from '../../support/service-here.js';
import { SECRET, tokenOf } from '../../support/tokens.js';

/** A room that a token does not allow stays closed, whichever way one comes. */

const CLOSED = 'vault';
/** Names that are not the closed room's, but could be taken for it. */
const disguises = [
  'vault',
  'vault ',
  ' vault',
  'VAULT',
  'Vault',
  'vault\u200b',
  'ｖault',
  'open/../vault',
  'open/%2e%2e/vault',
];
const SECRET_TEXT = 'nobody outside may read this';

let server: RunningServer;
let insider: ChatClient;
let outsider: ChatClient;
let token: string;

beforeAll(async () => {
  server = await startServer({
    JWT_SECRET: SECRET,
    STATE_ROOMS: 'vault,open,open/../vault,open/%2e%2e/vault',
    WORKERS: '1',
  });
  token = await tokenOf({ sub: 'eve', rooms: { join: ['open', 'open/*'], publish: ['open', 'open/*'] } });
});
afterAll(() => server.stop());

async function enter(claims: { sub: string }): Promise<ChatClient> {
  const client = connect(server.url, { auth: { token: await tokenOf(claims) } });
  await connected(client);
  return client;
}

afterEach(disconnectAll);

async function populate(): Promise<void> {
  insider = await enter({ sub: 'ann' });
  expectOk(await insider.emitWithAck('join', CLOSED));
  expectOk(await insider.emitWithAck('message', { room: CLOSED, text: SECRET_TEXT }));
  const headers = { Authorization: `Bearer ${await tokenOf({ sub: 'ann' })}` };
  await fetch(`${server.url}/api/state/${CLOSED}/k`, { method: 'PUT', headers, body: JSON.stringify(SECRET_TEXT) });
  outsider = connect(server.url, { auth: { token } });
  await connected(outsider);
}

const call = (room: string, init?: RequestInit) => callAt(`/api/rooms/${encodeURIComponent(room)}/messages`, init);
const callState = (room: string, method: string, key: string, body?: string) =>
  callAt(`/api/state/${encodeURIComponent(room)}${key}`, body === undefined ? { method } : { method, body });

const callAt = async (path: string, init: RequestInit = {}) => {
  const url = `${server.url}${path}`;
  const response = await fetch(url, { ...init, headers: { Authorization: `Bearer ${token}` } });
  return (await response.json()) as { ok: boolean; code?: string };
};

async function plain(room: string, folder = '/'): Promise<{ ok: boolean; code?: string }> {
  const path = `${folder}${encodeURIComponent(room)}`;
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}?token=${token}`);
  socket.on('error', () => {});
  const refused = once(socket, 'unexpected-response').then(async ([, response]) => {
    let text = '';
    for await (const chunk of response) text += chunk;
    return JSON.parse(text) as { ok: boolean; code?: string };
  });
  const opened = new Promise<{ ok: boolean }>((resolve) => socket.once('open', () => resolve({ ok: true })));
  const result = await Promise.race([refused, opened]);
  socket.terminate();
  return result;
}

type Way = (room: string) => Promise<{ ok: boolean; code?: string }>;

/** Every event and route that has to do with rooms. */
const ways: Record<string, Way> = {
  'event join': (room) => outsider.emitWithAck('join', room),
  'event message': (room) => outsider.emitWithAck('message', { room, text: 'x' }),
  'event history': (room) => outsider.emitWithAck('history', { room }),
  'event who': (room) => outsider.emitWithAck('who', room),
  'event watch': (room) => outsider.emitWithAck('watch', { room }),
  'plain WebSocket': (room) => plain(room),
  'plain WebSocket that watches': (room) => plain(room, '/api/state/'),
  'GET /api/rooms/{room}/messages': (room) => call(room),
  'POST /api/rooms/{room}/messages': (room) => call(room, { method: 'POST', body: '{"text":"x"}' }),
  'GET /api/state/{room}/{key}': async (room) => {
    await callState(room, 'PUT', '/own', '1');
    return callState(room, 'GET', '/own');
  },
  'PUT /api/state/{room}/{key}': (room) => callState(room, 'PUT', '/k', '1'),
  'PATCH /api/state/{room}/{key}': (room) => callState(room, 'PATCH', '/fields', '{}'),
  'DELETE /api/state/{room}/{key}': (room) => callState(room, 'DELETE', '/k'),
};

/** Those that no room can be entered, read or written with, and the operator's, which test/service/http/actions.test.ts tries. */
const others = [
  ...['event leave', 'event unwatch', 'event direct', 'event token', 'GET /api/stats', 'POST /api/drain'],
  ...['POST /api/disconnect', 'POST /api/close-room', 'POST /api/acknowledge-loss'],
  ...['POST /api/tokens/revoke', 'GET /api/tokens/revocations', 'DELETE /api/tokens/revocations/{id}'],
  ...['DELETE /api/rooms/{room}/messages', 'DELETE /api/rooms/{room}/messages/{offset}'],
  ...['DELETE /api/users/{user}/messages', 'GET /api/users/{user}/export'],
];

test('every way in is tried', () => {
  const events = [...handlers.keys()].map((event) => `event ${event}`);
  const calls = Object.entries(routes).flatMap(([path, methods]) =>
    Object.keys(methods).map((one) => `${one} ${path}`),
  );
  expect([...Object.keys(ways), ...others].sort()).toEqual(
    [...events, ...calls, 'plain WebSocket', 'plain WebSocket that watches'].sort(),
  );
});

describe.each(Object.entries(ways))('%s', (_, walk) => {
  test('leads into an open room', async () => {
    await populate();
    expectOk((await outsider.emitWithAck('join', 'open')) as { ok: true });
    expect(await walk('open')).toMatchObject({ ok: true });
  });

  test('is rejected at a closed room, under any name', async () => {
    await populate();
    for (const room of disguises) {
      const result = await walk(room);
      // A room of another name may be open; it is another room, and what is said in the closed one is not in it.
      if (room.startsWith('open/') && result.ok) expect(JSON.stringify(result)).not.toContain(SECRET_TEXT);
      else
        expect([room, result.ok, ['ROOM_FORBIDDEN', 'NOT_IN_ROOM'].includes(result.code ?? '')]).toEqual([
          room,
          false,
          true,
        ]);
    }
  });
});

test('a user without access to a room receives none of its messages', async () => {
  await populate();
  const heard: unknown[] = [];
  outsider.onAny((...event) => heard.push(event));
  for (const way of Object.values(ways)) await way(CLOSED);
  expectOk(await insider.emitWithAck('message', { room: CLOSED, text: SECRET_TEXT }));
  const newcomer = await enter({ sub: 'bob' });
  expectOk(await newcomer.emitWithAck('join', CLOSED));
  expectOk(await insider.emitWithAck('who', CLOSED));
  // What would come has come before the reply to this.
  expectOk(await outsider.emitWithAck('join', 'open'));
  expectOk(await outsider.emitWithAck('message', { room: 'open', text: 'fence' }));
  expect(heard.filter((event) => JSON.stringify(event).includes(CLOSED))).toEqual([]);
});

test('no user reads the messages of two others', async () => {
  await populate();
  expectOk(await insider.emitWithAck('direct', { to: 'bob', text: SECRET_TEXT }));
  // A conversation has a key of its own, which must not pass for a room's.
  const free = await enter({ sub: 'eve' });
  for (const room of ['direct:ann\nbob', 'ann\nbob', 'user:ann', 'user:bob']) {
    expect(JSON.stringify(await free.emitWithAck('history', { room }))).not.toContain(SECRET_TEXT);
  }
  for (const other of ['ann', 'bob', 'ann\nbob']) {
    expect(JSON.stringify(await free.emitWithAck('history', { with: other }))).not.toContain(SECRET_TEXT);
  }
});

test('/api/stats names no room to other callers than the operator', async () => {
  await populate();
  const response = await fetch(`${server.url}/api/stats`, { headers: { Authorization: `Bearer ${token}` } });
  const text = await response.text();
  expect(text).toContain('totals');
  expect(text).not.toContain(CLOSED);
});
