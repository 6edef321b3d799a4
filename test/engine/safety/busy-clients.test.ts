import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Session } from '../../../src/engine/session/session.js';
import { busyFor } from '../../support/until.js';
import { serveDropIn } from '../support/application.js';
import { closeEngines, startEngine } from '../support/engine.js';
import { closeWebSockets, openPolling, openWebSocket } from '../support/raw.js';

afterEach(() => {
  closeWebSockets();
  closeEngines();
});

/**
 * A client that sends as fast as it can, from a thread of its own, because the server of this test has its event loop.
 * Large messages first make the kernel grow its buffers, so that each read of uWebSockets.js is full, and it reads
 * again. Another client sends a message when it is told to. On a busy machine, the server also pings both of them.
 */
const flooding = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { WebSocket } = require(workerData.ws);
  const open = () => new Promise((resolve) => {
    const socket = new WebSocket(workerData.url);
    socket.once('message', () => resolve(socket));
    socket.on('message', (data) => {
      if (String(data) === '2') socket.send('3');
    });
  });
  const text = (n, length) => '4' + n + ' ' + 'x'.repeat(length);
  Promise.all([open(), open()]).then(([mallory, other]) => {
    const sendLarge = () => {
      for (let n = 0; n < 10; n++) mallory.send(text('large', 900_000));
    };
    sendLarge();
    mallory.on('message', (data) => {
      if (String(data) === '4more') return sendLarge();
      if (String(data) !== '4ready') return;
      for (let n = 0; n < workerData.count; n++) mallory.send(text(n, 1000));
    });
    parentPort.once('message', () => other.send('4other'));
  });
`;

test('a client that sends 5 MB is served completely and in order, and others are served in between', async () => {
  const count = 5000;
  const { engine, url } = await startEngine();
  const received: string[] = [];
  let large = 0;
  const ws = createRequire(import.meta.url).resolve('ws');
  const workerData = { ws, url: `${url.replace('http', 'ws')}&transport=websocket`, count };
  const worker = new Worker(flooding, { eval: true, workerData });
  const done = new Promise<void>((resolve) => {
    engine.on('connection', (session: Session) => {
      session.on('data', (data: string) => {
        const name = data.split(' ', 1)[0]!;
        if (name === 'large') {
          // Ten at a time, which may all wait on a busy machine.
          if (++large % 10 === 0) session.send(large < 100 ? 'more' : 'ready');
          return;
        }
        busyFor(0.2);
        received.push(name);
        if (received.length === 100) worker.postMessage('now');
        if (received.length === count + 1) resolve();
      });
    });
  });
  await done;
  await worker.terminate();
  const others = received.indexOf('other');
  expect(received.toSpliced(others, 1)).toEqual(Array.from({ length: count }, (_, n) => String(n)));
  expect(others).toBeLessThan(count);
  expect(engine.frameGuard.floods).toBe(0);
});

test('20,000 packets of one POST are handled in order, its response is last, and others are served in between', async () => {
  const count = 20_000;
  const { engine, url } = await startEngine();
  const order: string[] = [];
  const other = openWebSocket(url);
  await other.next();
  engine.clients[Object.keys(engine.clients)[0]!]!.on('data', () => order.push('other'));
  const polling = await openPolling(url);
  engine.clients[polling.sid]!.on('data', (data: string) => {
    busyFor(0.02);
    if (order.length === 0) other.send('4other');
    order.push(data);
  });
  const packets = Array.from({ length: count }, (_, n) => `4${n}`);
  const post = polling.post(packets.join('\x1e')).then(([status, body]) => order.push(`${status} ${body}`));
  await post;
  expect(order.at(-1)).toBe('200 ok');
  const others = order.indexOf('other');
  expect(others).toBeGreaterThan(0);
  expect(others).toBeLessThan(count);
  expect(order.toSpliced(others, 1).slice(0, -1)).toEqual(packets.map((packet) => packet.slice(1)));
});

test('a second POST while the first one is being handled ends the session', async () => {
  const { engine, url } = await startEngine();
  const polling = await openPolling(url);
  const session = engine.clients[polling.sid]!;
  let handled = 0;
  let second: Promise<[number, string]> | undefined;
  const closed = new Promise<string>((resolve) => session.on('close', resolve));
  session.on('data', () => {
    busyFor(5);
    handled++;
    second ??= polling.post('4second');
  });
  const first = polling.post(Array(1000).fill('4x').join('\x1e'));
  expect(await closed).toBe('transport error');
  expect((await second)?.[0]).toBe(400);
  expect((await first)[0]).toBe(200);
  expect(handled).toBeLessThan(1000);
});

describe.each([
  ['native', 'auto'],
  ['portable', 'node'],
] as const)('listeners of Socket.IO on %s sockets', (_base, portOwner) => {
  const count = 200;
  const work = '42["work"]';
  /** Those that go on in a microtask are listeners, too. */
  const listeners: [string, (busy: () => void) => unknown][] = [
    ['synchronous', (busy) => busy()],
    ['asynchronous', (busy) => Promise.resolve().then(() => Promise.resolve().then(busy))],
  ];
  type Sender = () => unknown;
  const senders: [string, (url: string) => Promise<Sender>][] = [
    [
      'frames of one segment',
      async (url) => {
        const client = openWebSocket(url);
        await client.next();
        client.send('40');
        await client.next();
        return () => {
          const { _socket: socket } = client.socket as unknown as { _socket: Socket };
          socket.cork();
          for (let n = 0; n < count; n++) client.send(work);
          socket.uncork();
        };
      },
    ],
    [
      'packets of one POST',
      async (url) => {
        const client = await openPolling(url);
        await client.post('40');
        await client.poll();
        return () => client.post(Array(count).fill(work).join('\x1e'));
      },
    ],
  ];

  test.each(
    senders.flatMap(([what, sender]) => listeners.map(([kind, listener]) => [kind, what, sender, listener] as const)),
  )('that are %s and need 5 ms each for %s leave others their turn', async (_kind, _what, sender, listener) => {
    let done = 0;
    let before = -1;
    const { url, close } = await serveDropIn(
      (io) => {
        io.on('connection', (socket) => {
          socket.on('other', () => {
            before = done;
          });
          socket.on('work', () =>
            listener(() => {
              busyFor(5);
              if (++done === 10) other.send('42["other"]');
              if (done === count) finished();
            }),
          );
        });
      },
      { portOwner } as object,
    );
    let finished = () => {};
    const all = new Promise<void>((resolve) => {
      finished = resolve;
    });
    const address = `${url}/socket.io/?EIO=4`;
    const other = openWebSocket(address);
    await other.next();
    other.send('40');
    await other.next();
    void (await sender(address))();
    await all;
    await close();
    // 50 ms later, and what one turn of a busy machine may take.
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(60);
  });
});
