import { once } from 'node:events';
import { afterEach, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { type ChatClient, connect, connected, disconnectAll, expectOk, nextEvent } from '../../support/clients.js';
import { type RunningServer, startServer } from '../../support/server.js';
import { type ServiceHere, startServiceHere } from '../../support/service-here.js';
import { SECRET, tokenOf } from '../../support/tokens.js';
import { until } from '../../support/until.js';

/** The same names, with accents as characters of their own and without. */
const [AS_TWO, AS_ONE] = ['Zoe\u0308', 'Zo\u00eb'];
const [ROOM_AS_TWO, ROOM_AS_ONE] = ['cafe\u0301', 'caf\u00e9'];

let server: RunningServer | ServiceHere;
afterEach(async () => {
  disconnectAll();
  await server.stop();
});

async function enter(auth: object): Promise<ChatClient> {
  const client = connect(server.url, { auth });
  await connected(client);
  return client;
}

test('a guest is one user in both forms, in rooms, direct messages, presence and history', async () => {
  server = await startServer({ WORKERS: '2' });
  const [one, two] = [await enter({ name: AS_TWO }), await enter({ name: AS_ONE })];
  const bob = await enter({ name: 'bob' });
  expectOk(await one.emitWithAck('join', ROOM_AS_TWO));
  expectOk(await two.emitWithAck('join', ROOM_AS_ONE));
  expectOk(await bob.emitWithAck('join', ROOM_AS_ONE));
  // Workers tell each other of members a moment later.
  await until(async () => (await bob.emitWithAck('who', ROOM_AS_TWO)).users.length === 2);
  expect(await bob.emitWithAck('who', ROOM_AS_TWO)).toMatchObject({ users: [AS_ONE, 'bob'] });
  const heard = nextEvent(two, 'message');
  expectOk(await one.emitWithAck('message', { room: ROOM_AS_TWO, text: 'x' }));
  expect(await heard).toMatchObject([{ room: ROOM_AS_ONE, from: AS_ONE, text: 'x' }]);
  const direct = Promise.all([one, two].map((client) => nextEvent(client, 'direct')));
  expectOk(await bob.emitWithAck('direct', { to: AS_TWO, text: 'y' }));
  expect(await direct).toMatchObject([[{ text: 'y' }], [{ text: 'y' }]]);
  const page = await bob.emitWithAck('history', { with: AS_TWO });
  expect(page).toMatchObject({ messages: [{ text: 'y' }] });
});

test.each([
  ['the port of the clients', false],
  ['ADMIN_PORT', true],
])('%s: a token, its rooms and the actions of the operator mean both forms', async (_port, isOnAdminPort) => {
  const admin = { ADMIN_USER: 'ops', ADMIN_PASSWORD: 'open sesame', ...(isOnAdminPort && { ADMIN_PORT: '0' }) };
  server = await (isOnAdminPort ? startServer : startServiceHere)({ WORKERS: '1', JWT_SECRET: SECRET, ...admin });
  const base = isOnAdminPort
    ? `http://127.0.0.1:${(await server.logged(({ msg }) => msg === 'the admin port is open')).port}`
    : server.url;
  const token = (sub: string, join: string[]) => tokenOf({ sub, rooms: { join } }, { age: 10 });
  const act = async (path: string, body: object, at = base) => {
    const headers = { Authorization: `Basic ${btoa('ops:open sesame')}` };
    return (await fetch(`${at}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json();
  };
  const client = await enter({ token: await token(AS_TWO, [`${ROOM_AS_TWO}*`]) });
  expectOk(await client.emitWithAck('join', ROOM_AS_ONE));
  const path = `${encodeURIComponent(ROOM_AS_TWO)}?token=${await token('bob', [ROOM_AS_ONE])}`;
  const plain = new WebSocket(`${server.url.replace('http', 'ws')}/${path}`);
  await once(plain, 'open');
  const closed = [nextEvent(client, 'ended'), once(plain, 'close')];
  expect(await act('/api/close-room', { room: ROOM_AS_TWO })).toMatchObject({ removed: 2 });
  await Promise.all(closed);
  const disconnected = nextEvent(client, 'disconnect');
  expect(await act('/api/disconnect', { user: AS_TWO })).toMatchObject({ disconnected: 1 });
  await disconnected;
  const again = await enter({ token: await token(AS_TWO, []) });
  const ended = nextEvent(again, 'ended');
  const revocation = { id: `user:${AS_ONE}` };
  expect(await act('/api/tokens/revoke', { user: AS_ONE }, server.url)).toMatchObject({ revocation });
  expect(await ended).toMatchObject([{ code: 'TOKEN_REVOKED' }]);
});
