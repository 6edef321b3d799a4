import { once } from 'node:events';
import { createConnection } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import express from 'express';
import { Server } from '../../../../src/index.js';
import { nextEvent } from '../../../support/clients.js';
import { HaProxy } from '../../../support/haproxy.js';
import { answerTo, ask } from '../support/requests.js';
import { client, closeAll, type Running, run } from '../support/servers.js';

/** HAProxy sends the requests of all clients over the same few connections to an Express application. */

const CLIENTS = 12;
const ROUNDS = 25;

let served: Running;
let proxy: HaProxy;
let connections = 0;
let requests = 0;

beforeAll(async () => {
  const app = express();
  app.use(express.json({ limit: '1mb' }));
  app.get('/healthz', (_request, response) => void response.send('ok'));
  app.get('/name/:name', (request, response) => void response.json({ name: request.params.name }));
  app.post('/name/:name', (request, response) => void response.json({ name: request.params.name, body: request.body }));
  app.get('/large/:name', (request, response) => void response.send(request.params.name.repeat(20_000)));
  served = await run(Server, app as never, { trustProxy: 1 } as never);
  served.http.on('connection', () => connections++);
  served.http.on('request', () => requests++);
  served.io.on('connection', (socket) => {
    socket.emit('you', socket.handshake.auth.name);
    socket.on('echo', (value, done) => done([value, socket.handshake.auth.name]));
    socket.on('large', (done) => done('x'.repeat(200_000)));
  });
  proxy = await HaProxy.start(
    [served.port],
    'http-reuse always\n  option forwardfor\n  default-server pool-purge-delay 60s',
  );
});
afterEach(() => {
  connections = 0;
  requests = 0;
});
afterAll(async () => {
  await closeAll();
  await proxy.remove();
});

const transports = [['polling'], ['websocket'], ['polling', 'websocket']];

/** A client of Socket.IO, and what it must be told. */
async function connected(name: string, index: number) {
  const socket = client(proxy.url, { transports: transports[index % transports.length]!, auth: { name } } as object);
  const [told] = await Promise.all([nextEvent(socket, 'you'), nextEvent(socket, 'connect')]);
  expect([told].flat()[0]).toBe(name);
  return socket;
}

/** Requests of the application, one after another. */
async function asks(name: string) {
  for (let round = 0; round < ROUNDS; round++) {
    const one = `${name}-${round}`;
    const got = await answerTo(ask(proxy.port, { path: `/name/${one}` }));
    expect([got.status, JSON.parse(got.body)]).toEqual([200, { name: one }]);
    const headers = { 'content-type': 'application/json' };
    const posted = await answerTo(
      ask(proxy.port, { method: 'POST', path: `/name/${one}`, headers }),
      JSON.stringify({ one, padding: 'p'.repeat(round * 1000) }),
    );
    expect([posted.status, JSON.parse(posted.body).body.one]).toEqual([200, one]);
    if (round % 5 > 0) continue;
    const large = await answerTo(ask(proxy.port, { path: `/large/${one}` }));
    expect(large.body === one.repeat(20_000)).toBe(true);
  }
}

/** Clients that leave within a request, so that a part of it or of its response remains. */
async function leaves() {
  for (let round = 0; round < ROUNDS; round++) {
    const socket = createConnection(proxy.port, '127.0.0.1').on('error', () => {});
    await once(socket, 'connect');
    const path = ['/large/left', '/socket.io/?EIO=4&transport=polling', '/name/left'][round % 3]!;
    if (round % 2) socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    else {
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n`,
      );
      socket.write('{"left":"');
    }
    // It leaves once what it has sent is on its way, or once a response begins.
    if (round % 2 && round % 4 === 1) await once(socket, 'data');
    socket.resetAndDestroy();
  }
}

test('no client gets what is for another one', async () => {
  const names = Array.from({ length: CLIENTS }, (_, index) => `client${index}`);
  const sockets = await Promise.all(names.map(connected));
  const talks = sockets.map(async (socket, index) => {
    for (let round = 0; round < ROUNDS; round++) {
      const value = `${names[index]} says ${round}`;
      expect(await socket.emitWithAck('echo', value)).toEqual([value, names[index]]);
      if (round % 5 === 0) expect((await socket.emitWithAck('large')).length).toBe(200_000);
    }
  });
  await Promise.all([...talks, ...names.map(asks), leaves()]);
  expect(sockets.every(({ connected: is }) => is)).toBe(true);
  expect(requests).toBeGreaterThan(5 * connections);
});

test('a broadcast reaches each client once, on polling too, while requests come', async () => {
  const names = Array.from({ length: CLIENTS }, (_, index) => `member${index}`);
  const sockets = await Promise.all(names.map(connected));
  const got = sockets.map((): number[] => []);
  const done = sockets.map(
    (socket, index) =>
      new Promise<void>((resolve) => {
        socket.on('n', (n: number) => {
          got[index]!.push(n);
          if (n === ROUNDS) resolve();
        });
      }),
  );
  const requesting = Promise.all(names.map(asks));
  for (let n = 1; n <= ROUNDS; n++) {
    served.io.emit('n', n);
    await answerTo(ask(proxy.port, { path: `/name/${n}` }));
  }
  await Promise.all([...done, requesting]);
  const all = Array.from({ length: ROUNDS }, (_, index) => index + 1);
  expect(got).toEqual(sockets.map(() => all));
});
