import { once } from 'node:events';
import { createConnection } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import WebSocket from 'ws';
import { connect, connected, disconnectAll, nextEvent, upgraded } from '../support/clients.js';
import type { LogLine } from '../support/server.js';
import { type ServiceHere as RunningServer, startServiceHere as startServer } from '../support/service-here.js';
import { SECRET, tokenOf } from '../support/tokens.js';
import { until } from '../support/until.js';

let server: RunningServer;
let token: string;

async function start(): Promise<void> {
  server = await startServer({
    WORKERS: '1',
    // Sessions that nobody polls would hold up the stop.
    DRAIN_TIMEOUT: '0',
    LOG_LEVEL: 'debug',
    JWT_SECRET: SECRET,
    API_KEY: 'key',
    CORS_ORIGIN: 'https://*.example.com',
    ADMIN_USER: 'ops',
    ADMIN_PASSWORD: 'password',
  });
  token = await tokenOf({ sub: 'ann' });
}
const stop = () => server.stop();
afterEach(disconnectAll);

const rejected = (code: string): Promise<LogLine> =>
  server.logged((line) => line.msg === 'a client was rejected' && line.code === code);

async function counted(code: string): Promise<number> {
  const headers = { Authorization: `Basic ${btoa('ops:password')}` };
  const text = await (await fetch(`${server.url}/metrics`, { headers })).text();
  return Number(new RegExp(`^gjallar_clients_refused_total\\{code="${code}".*\\} (\\d+)$`, 'm').exec(text)?.[1]);
}

describe('a rejected client leaves a line and is counted', () => {
  const get = (path: string, headers: Record<string, string> = {}) => fetch(server.url + path, { headers });
  const handshake = '/socket.io/?EIO=4&transport=polling';
  const cases: [what: string, code: string, line: object, attempt: () => Promise<unknown>][] = [
    [
      'a foreign origin',
      'ORIGIN_FORBIDDEN',
      { origin: 'https://evil.example', method: 'GET', path: '/socket.io/', address: '127.0.0.1' },
      () => get(handshake, { Origin: 'https://evil.example' }),
    ],
    [
      'no token',
      'TOKEN_MISSING',
      { path: '/socket.io/', address: '127.0.0.1' },
      () => nextEvent(connect(server.url), 'connect_error'),
    ],
    [
      'a wrong token on a plain WebSocket',
      'TOKEN_INVALID',
      { path: '/hall', address: '127.0.0.1' },
      () => nextEvent(new WebSocket(`${server.url.replace('http', 'ws')}/hall?token=x`) as never, 'error'),
    ],
    [
      'an unknown namespace',
      'UNKNOWN_NAMESPACE',
      { namespace: '/nowhere', address: '127.0.0.1', session: expect.any(String) },
      () => nextEvent(connect(`${server.url}/nowhere`, { auth: { token } }), 'connect_error'),
    ],
    ['a wrong path', 'NOT_FOUND', { path: '/soket.io/', address: '127.0.0.1' }, () => get('/soket.io/?token=x')],
    ['no API key', 'UNAUTHORIZED', { path: '/api/rooms/hall/messages' }, () => get('/api/rooms/hall/messages')],
    [
      'a wrong password of the operator',
      'ADMIN_ONLY',
      { path: '/metrics' },
      () => get('/metrics', { Authorization: `Basic ${btoa('ops:guess')}` }),
    ],
    [
      'an unknown session',
      'UNKNOWN_SID',
      { session: expect.stringMatching(/^A+$/) },
      () => get(`${handshake}&sid=${'A'.repeat(20)}`),
    ],
  ];

  beforeAll(async () => {
    await start();
    for (const [, , , attempt] of cases) await attempt();
  });
  afterAll(stop);

  test.each(cases)('%s: %s', async (_what, code, line) => {
    expect(await rejected(code)).toMatchObject({ level: 'info', count: 1, ...line });
    expect(JSON.stringify(await rejected(code))).not.toContain('token=');
  });

  test('each is counted, and many of one kind leave one line in ten seconds', async () => {
    const codes = cases.map(([, code]) => code);
    // The metrics are read once a second.
    await until(async () => (await Promise.all(codes.map(counted))).every((count) => count === 1));
    for (let n = 0; n < 50; n++) await get(`/api/unknown/${n}`, { Authorization: 'Basic eDp5' });
    await until(async () => (await counted('NOT_FOUND')) === 51);
    expect(server.log.filter(({ code }) => code === 'NOT_FOUND').length).toBeLessThanOrEqual(2);
  });
});

// On a server of its own: what is rejected here would be counted above.
describe('what else is rejected or logged', () => {
  beforeAll(start);
  afterAll(stop);

  test.each([
    ['https://chat.example.com', 200],
    ['https://a.b.example.com', 200],
    ['https://example.com', 403],
    ['http://chat.example.com', 403],
    ['https://chat.example.com:8443', 403],
    ['https://chatexample.com', 403],
    ['https://evil.test/.example.com', 403],
  ])('CORS_ORIGIN=https://*.example.com and a page of %s: status %d', async (origin, status) => {
    const path = '/socket.io/?EIO=4&transport=polling';
    const response = await fetch(server.url + path, { headers: { Origin: origin } });
    expect(response.status).toBe(status);
    expect(response.headers.get('access-control-allow-origin')).toBe(status === 200 ? origin : null);
  });

  test('an address that floods with requests leaves the line that the runbook names', async () => {
    const socket = createConnection(server.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(3000));
    socket.resume();
    expect(
      await server.logged((line) => line.msg === 'a client was disconnected' && line.code === 'RATE_LIMITED'),
    ).toMatchObject({
      address: '127.0.0.1',
      path: '/healthz',
      reason: 'too many requests of one address in one turn of the event loop',
    });
    if (!socket.closed) await once(socket, 'close');
  });

  test('LOG_LEVEL=debug tells the story of a connection under its session id', async () => {
    const client = connect(server.url, { auth: { token } });
    await connected(client);
    const sid = client.io.engine.id;
    await upgraded(client);
    expect(await client.emitWithAck('message', { room: 'elsewhere', text: 'x' })).toMatchObject({
      code: 'NOT_IN_ROOM',
    });
    const { id } = client;
    client.disconnect();
    await server.logged((line) => line.msg === 'session closed' && sid.startsWith(line.session as string));
    const story = server.log.filter(
      ({ session, socket }) =>
        (typeof session === 'string' && session !== '' && sid.startsWith(session)) || socket === id,
    );
    // The upgrade and the connect to the namespace race.
    const [first, ...rest] = story.map(({ msg }) => msg);
    expect([first, ...rest.slice(0, 2).sort(), ...rest.slice(2)]).toEqual([
      'session opened',
      'session upgraded',
      'socket connected',
      'an event was rejected',
      'socket disconnected',
      'session closed',
    ]);
    expect(story[0]).toMatchObject({ address: '127.0.0.1', transport: 'polling' });
    expect(story).toContainEqual(expect.objectContaining({ user: 'ann', namespace: '/' }));
    expect(story.at(-1)).toMatchObject({ reason: expect.any(String), ms: expect.any(Number) });
    // With the whole id, a reader of the log could take over the session.
    expect(JSON.stringify(server.log)).not.toContain(sid);
  });
});
