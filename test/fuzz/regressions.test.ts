import { once } from 'node:events';
import { createConnection } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { type ChatClient, connect, connected, disconnectAll, expectOk, nextEvent } from '../support/clients.js';
import { sharedServer } from '../support/server.js';

/** What the fuzzer, or a look at the code for it, has found. */

const server = sharedServer({ API_KEY: 'key' });
afterEach(disconnectAll);

const deaths = () => server.log.filter(({ msg }) => /a worker died/.test(msg ?? ''));

async function overWebSocket(): Promise<ChatClient> {
  const client = connect(server.url, { transports: ['websocket'], reconnection: false });
  await connected(client);
  return client;
}

test('data nested deeper than the stack allows ends its connection, not the worker', async () => {
  const hostile = await overWebSocket();
  const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const gone = nextEvent(hostile, 'disconnect');
  hostile.io.engine.write(`2["echo",${nested}]`);
  await gone;
  // A namespace with a quote in it, or quotes within strings, do not hide anything.
  const sly = await overWebSocket();
  const slyGone = nextEvent(sly, 'disconnect');
  sly.io.engine.write(`2/"\\",["echo","\\"",${nested}]`);
  await slyGone;
  expect(deaths()).toEqual([]);
});

test('what is nested less, and brackets in a text, arrive', async () => {
  const client = await overWebSocket();
  const nested = JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`);
  const brackets = `${'[{"\\'.repeat(5_000)}`;
  expect(await client.emitWithAck('echo', [nested, brackets])).toEqual([nested, brackets]);
});

test.each([50, 50_000])('a client that connects %d times at once is cut off', async (times) => {
  const url = `${server.url}/socket.io/?EIO=4&transport=polling`;
  const { sid } = JSON.parse((await (await fetch(url)).text()).slice(1)) as { sid: string };
  const body = Array.from({ length: times }, () => '40').join('\x1e');
  await fetch(`${url}&sid=${sid}`, { method: 'POST', body });
  for (;;) {
    const poll = await fetch(`${url}&sid=${sid}`);
    if (poll.status === 400) break;
    // At most what it was let in with before it was found out.
    expect((await poll.text()).split('\x1e').length).toBeLessThanOrEqual(times === 50 ? 2 : 101);
  }
});

test('lone surrogates are rejected anywhere, since other clients could not read them', async () => {
  const plain = new WebSocket(`${server.url.replace('http', 'ws')}/unicode?name=plain`);
  await once(plain, 'open');
  const client = await overWebSocket();
  expectOk(await client.emitWithAck('join', 'unicode'));
  const say = (text: string) => client.emitWithAck('message', { room: 'unicode', text });
  expect(await say('a\ud800b')).toMatchObject({ code: 'BAD_TEXT' });
  expect(await client.emitWithAck('join', 'a\udc00')).toMatchObject({ code: 'BAD_ROOM' });
  expect(await client.emitWithAck('direct', { to: '\ud800', text: 'x' })).toMatchObject({ code: 'BAD_NAME' });
  const response = await fetch(`${server.url}/api/rooms/unicode/messages`, {
    method: 'POST',
    headers: { Authorization: 'Bearer key' },
    body: '{"text":"\\ud800"}',
  });
  expect(await response.json()).toMatchObject({ code: 'BAD_TEXT' });
  const stranger = connect(server.url, { auth: { name: 'x\ud800' } });
  const [error] = await nextEvent<[Error & { data?: unknown }]>(stranger, 'connect_error');
  expect(error.data).toMatchObject({ code: 'BAD_NAME' });
  const heard = once(plain, 'message');
  expectOk(await say('\u{1f600}'));
  expect(String((await heard)[0])).toBe('\u{1f600}');
  plain.terminate();
});

test.each([
  ['two lengths', 'Content-Length: 12\r\nContent-Length: 0'],
  ['a transfer coding that is none', 'Transfer-Encoding: xchunked'],
])('a request with %s ends the connection, and the bytes after it are not read', async (_, header) => {
  const socket = createConnection(server.port, '127.0.0.1');
  socket.write(
    `POST /api/rooms/hall/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer key\r\n${header}\r\n\r\n` +
      '{"text":"a"}GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n',
  );
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
  });
  await once(socket, 'close');
  expect(received).toBe('');
});

test('a client that disconnects before its request is read causes no failure', async () => {
  const pids = await Promise.all([1, 2].map((worker) => server.pidOfWorker(worker)));
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  for (const path of ['/socket.io/?EIO=4&transport=polling', '/api/rooms/hall/messages', '/hall']) {
    for (const headers of [
      '',
      'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n',
    ]) {
      const socket = createConnection(server.port, '127.0.0.1');
      await once(socket, 'connect');
      await new Promise((resolve) => socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`, resolve));
      socket.resetAndDestroy();
    }
  }
  for (const pid of pids) process.kill(pid, 'SIGCONT');
  for (let client = 0; client < 10; client++) await overWebSocket();
  expect(deaths()).toEqual([]);
});

test('an echo without a value is answered, and leaves nothing behind', async () => {
  const client = await overWebSocket();
  const echoes: unknown[] = [];
  client.on('echo', (value) => echoes.push(value));
  expect(
    await (client as unknown as { emitWithAck(event: string): Promise<unknown> }).emitWithAck('echo'),
  ).toBeUndefined();
  expect(await client.emitWithAck('echo', 'fence')).toBe('fence');
  expect(echoes).toEqual([]);
});
