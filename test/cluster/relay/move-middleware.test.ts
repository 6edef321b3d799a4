import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import session from 'express-session';
import { Server } from 'socket.io';
import { WebSocket } from 'ws';
import { idPrefixOf } from '../../../src/base/worker-name.js';
import { Mesh } from '../../../src/cluster/mesh/mesh.js';
import { Node } from '../../../src/cluster/node.js';
import { Relay } from '../../../src/cluster/relay/relay.js';
import { App, us_listen_socket_close, us_socket_local_port } from '../../../src/engine/sockets.js';
import { createAdapter, Engine } from '../../../src/index.js';
import { temporaryFolder } from '../../support/folder.js';

interface Worker {
  io: Server;
  engine: Engine;
  url: string;
  close(): Promise<void>;
}

let directory: string;
let workers: Worker[];
const meshes: Mesh[] = [];

/** A worker of one machine, in this process. */
async function startWorker(id: number): Promise<Worker> {
  const mesh = new Mesh(id, directory);
  await mesh.listen();
  await mesh.join(meshes.map((other) => other.id));
  meshes.push(mesh);
  const app = App();
  const engine = new Engine({ idPrefix: idPrefixOf(id) });
  engine.relay = new Relay(new Node(mesh, 'machine0', true), engine);
  engine.attach(app);
  const io = new Server({ adapter: createAdapter(engine) as never });
  io.bind(engine);
  const socket = await new Promise<object>((resolve) => app.listen('127.0.0.1', 0, resolve as never));
  return {
    io,
    engine,
    url: `127.0.0.1:${us_socket_local_port(socket as never)}/socket.io/?EIO=4`,
    close: async () => {
      us_listen_socket_close(socket as never);
      await io.close();
      mesh.close();
      app.close();
    },
  };
}

beforeEach(async () => {
  directory = temporaryFolder();
  workers = [await startWorker(1), await startWorker(2)];
});

afterEach(async () => {
  for (const worker of workers) await worker.close();
  meshes.length = 0;
});

/** Opens a session on the first worker, and its WebSocket on the second. Returns the messages of the WebSocket. */
async function move(): Promise<{ webSocket: WebSocket; next(): Promise<string> }> {
  const [from, to] = workers as [Worker, Worker];
  const answer = await fetch(`http://${from.url}&transport=polling`);
  const cookie = answer.headers.get('set-cookie')?.split(';')[0];
  const { sid } = JSON.parse((await answer.text()).slice(1)) as { sid: string };
  const headers: Record<string, string> = cookie ? { cookie } : {};
  // It waits for the WebSocket, and moves with the session.
  const posted = fetch(`http://${from.url}&transport=polling&sid=${sid}`, { method: 'POST', body: '40', headers });
  while (!from.engine.clients[sid]?.polling?.isReceiving) await turn();
  const webSocket = new WebSocket(`ws://${to.url}&transport=websocket&sid=${sid}`, { headers });
  const messages: string[] = [];
  let waiting: ((message: string) => void) | undefined;
  webSocket.on('message', (data) => {
    if (waiting) waiting(String(data));
    else messages.push(String(data));
    waiting = undefined;
  });
  const next = () =>
    new Promise<string>((resolve) => {
      const message = messages.shift();
      if (message === undefined) waiting = resolve;
      else resolve(message);
    });
  await once(webSocket, 'open');
  expect(await (await posted).text()).toBe('ok');
  return { webSocket, next };
}

test('middleware runs for a session on the worker that it has moved to, before the application learns of it', async () => {
  const ran: number[] = [];
  for (const [index, { engine }] of workers.entries()) {
    engine.use(async (request, _response, next) => {
      await turn();
      if (!request._query.sid) ran.push(index + 1);
      request.user = `user of worker ${index + 1}`;
      next();
    });
  }
  const connected = once(workers[1]!.io, 'connection');
  const { webSocket, next } = await move();
  webSocket.send('2probe');
  expect(await next()).toBe('3probe');
  webSocket.send('5');
  webSocket.send('420["early"]');
  const [socket] = await connected;
  expect(socket.request.user).toBe('user of worker 1');
  const early = once(socket, 'early');
  expect(await next()).toMatch(/^40\{/);
  await early;
  expect(ran).toEqual([1, 2]);
  expect(workers[0]!.engine.clientsCount).toBe(0);
  webSocket.terminate();
});

test('express-session finds the session of a client that has moved', async () => {
  const store = new session.MemoryStore();
  for (const { engine } of workers) {
    engine.use(session({ secret: 'secret', resave: false, saveUninitialized: true, store }));
  }
  const connected = once(workers[1]!.io, 'connection');
  const { webSocket, next } = await move();
  webSocket.send('2probe');
  expect(await next()).toBe('3probe');
  webSocket.send('5');
  const [socket] = await connected;
  const sessions = await new Promise<Record<string, unknown>>((resolve) => {
    store.all?.((_error, all) => resolve((all ?? {}) as Record<string, unknown>));
  });
  expect(Object.keys(sessions)).toEqual([socket.request.session.id]);
  webSocket.terminate();
});

test('requests that middleware holds while their session moves follow it', async () => {
  const [from, to] = workers as [Worker, Worker];
  const held: (() => void)[] = [];
  from.engine.use((request, _response, next) => {
    if (request._query.sid) held.push(next);
    else next();
  });
  const connected = once(to.io, 'connection');
  const { sid } = JSON.parse((await (await fetch(`http://${from.url}&transport=polling`)).text()).slice(1));
  const polling = `http://${from.url}&transport=polling&sid=${sid}`;
  const requests = [fetch(polling, { method: 'POST', body: '40' }), fetch(polling)];
  while (held.length < 2) await turn();
  const webSocket = new WebSocket(`ws://${to.url}&transport=websocket&sid=${sid}`);
  await once(webSocket, 'open');
  for (const next of held) next();
  const [posted, polled] = await Promise.all(requests.map(async (request) => (await request).text()));
  const [socket] = await connected;
  expect([posted, polled]).toEqual(['ok', `40{"sid":"${socket.id}"}`]);
  webSocket.terminate();
});

test.each<[how: string, answer: (response: { end(): void }, next: (error: Error) => void) => void]>([
  ['an error', (_response, next) => next(new Error('no'))],
  ['an answer', (response) => response.end()],
])('a client whom middleware rejects with %s after the move is turned away', async (_how, answer) => {
  workers[1]!.engine.use((request, response, next) => (request._query.sid ? next() : answer(response, next)));
  await expect(move()).rejects.toThrow('400');
  expect(workers.map(({ engine }) => engine.clientsCount)).toEqual([0, 0]);
});
