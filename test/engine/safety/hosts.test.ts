import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { sharedServer } from '../../support/server.js';
import { closeEngines, startEngine } from '../support/engine.js';
import { closeWebSockets, openWebSocket } from '../support/raw.js';

afterEach(() => {
  closeWebSockets();
  closeEngines();
});

/** Resolves with the status of a GET with these headers, which `fetch` would not send. */
async function statusOf(url: string, headers: Record<string, string>): Promise<number> {
  const [response] = (await once(get(url, { headers }), 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode!;
}

const names: [string, boolean][] = [
  ['a.example', true],
  ['A.Example:8080', true],
  ['b.example', true],
  ['[::1]:3000', true],
  ['c.example', false],
  ['a.example.c.example', false],
  ['127.0.0.1', false],
];

test.each(names)('with allowedHosts, requests to %s are answered: %p', async (host, isAllowed) => {
  const { url, engine } = await startEngine({ allowedHosts: ['a.example', 'B.example', '[::1]'] });
  expect(await statusOf(`${url}&transport=polling`, { host })).toBe(isAllowed ? 200 : 421);
  expect(await openWebSocket(url, { host }).status).toBe(isAllowed ? 101 : 421);
  expect(engine.clientsCount).toBe(isAllowed ? 2 : 0);
});

test.each([
  [0, 'a.example', 'c.example', true],
  [0, 'c.example', 'a.example', false],
  [1, 'c.example', 'a.example', true],
  [1, 'a.example', 'c.example', false],
  [1, 'a.example', undefined, true],
])(
  'behind %p proxies, Host: %s with X-Forwarded-Host: %s is answered: %p',
  async (trustProxy, host, named, isAllowed) => {
    const { url } = await startEngine({ allowedHosts: ['a.example'], trustProxy });
    const headers = { host, ...(named ? { 'x-forwarded-host': named } : {}) };
    expect(await statusOf(`${url}&transport=polling`, headers)).toBe(isAllowed ? 200 : 421);
  },
);

describe('a server with ALLOWED_HOSTS', () => {
  const server = sharedServer({ WORKERS: '1', ALLOWED_HOSTS: 'chat.example,localhost', API_KEY: 'key' });

  test.each([
    '/',
    '/socket.io/socket.io.js',
    '/metrics',
    '/api/stats',
    '/api/openapi.json',
    '/api/rooms/hall/messages',
  ])('rejects other names for %s', async (path) => {
    const headers = { authorization: 'Bearer key' };
    expect(await statusOf(server.url + path, { ...headers, host: 'evil.example' })).toBe(421);
    expect(await statusOf(server.url + path, { ...headers, host: 'chat.example' })).not.toBe(421);
  });

  test('rejects other names for plain WebSockets', async () => {
    const url = `${server.url.replace('http', 'ws')}/hall`;
    const refused = new WebSocket(url, { headers: { host: 'evil.example' } });
    refused.on('error', () => {});
    const [, response] = (await once(refused, 'unexpected-response')) as [unknown, IncomingMessage];
    expect(response.statusCode).toBe(421);
    refused.terminate();
    const accepted = new WebSocket(url, { headers: { host: 'chat.example' } });
    await once(accepted, 'open');
    accepted.terminate();
  });

  test.each(['/healthz', '/readyz'])('answers %s under any name, for probes', async (path) => {
    expect(await statusOf(server.url + path, { host: '10.0.0.7:3000' })).toBe(200);
  });
});
