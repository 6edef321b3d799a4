import { once } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocket as Client } from 'ws';
import { Engine } from '../../../src/engine/engine.js';
import type { NativeWebSocket } from '../../../src/engine/http/exchange.js';
import { until as untilTrue, whileActing } from '../../support/until.js';
import { closeConnections } from '../support/tcp.js';
import { type Behavior, bases, closeApps, start } from './support/bases.js';
import { clientFrame, opcodes, RawWebSocket } from './support/frames.js';

/** What one client can make the server hold, and for how long. */

const MAX = 1_000_000;
/** Longer than a message, and than what a turn gathers before it writes. */
const SLACK = 200_000;

const clients = new Set<Client>();

afterEach(() => {
  for (const client of clients) client.terminate();
  clients.clear();
  closeConnections();
  closeApps();
});

/** A client with the messages that it has received, which can stop reading. */
async function connect(port: number) {
  const client = new Client(`ws://127.0.0.1:${port}/`);
  clients.add(client);
  const received: string[] = [];
  client.on('message', (data) => received.push(String(data)));
  await once(client, 'open');
  const until = async (count: number) => {
    while (received.length < count) await once(client, 'message');
  };
  return { client, received, until };
}

const numbered = (number: number) => `${number} `.padEnd(50_000, 'x');
const numberOf = (text: string) => Number(text.split(' ', 1)[0]);

describe.each(bases)('the %s base', (name, base) => {
  async function room(behavior: Behavior = {}) {
    const opened: NativeWebSocket[] = [];
    const overflows: number[] = [];
    const drained: number[] = [];
    const { port, app } = await start(base, (made) =>
      made.ws('/*', {
        ...behavior,
        maxBackpressure: MAX,
        open: (ws) => {
          ws.subscribe('room');
          opened.push(ws);
        },
        overflow: () => void overflows.push(opened.length),
        drain: (ws) => void drained.push(ws.getBufferedAmount()),
      }),
    );
    return { port, app, opened, overflows, drained };
  }

  test('messages wait up to the limit, are dropped beyond it, and the rest arrives in order', async () => {
    const { port, opened, overflows, drained } = await room();
    const { client, received, until } = await connect(port);
    const [ws] = opened;
    client.pause();
    const results: number[] = [];
    for (let number = 0; results.filter((each) => each === 2).length < 3; number++) {
      results.push(ws!.send(numbered(number), false, false));
      expect(ws!.getBufferedAmount()).toBeLessThan(MAX + SLACK);
      if (number % 10 === 0) await new Promise(setImmediate);
    }
    expect(results[0]).toBe(1);
    expect(results).toContain(0);
    const accepted = results.flatMap((each, number) => (each === 2 ? [] : [number]));
    expect(drained).toEqual([]);
    client.resume();
    await until(accepted.length);
    expect(received.map(numberOf)).toEqual(accepted);
    while (ws!.getBufferedAmount() > 0) await new Promise(setImmediate);
    while (drained.at(-1) !== 0) await new Promise(setImmediate);
    // It is as good as new.
    expect(ws!.send(numbered(7), false, false)).toBe(1);
    await until(accepted.length + 1);
    await untilTrue(() => overflows.length > 0);
  });

  test('the end of what was sent while other bytes were on their way is told too', async () => {
    const opened: NativeWebSocket[] = [];
    const drained: number[] = [];
    const { port } = await start(base, (app) =>
      app.ws('/*', {
        open: (ws) => void opened.push(ws),
        drain: (ws) => void drained.push(ws.getBufferedAmount()),
      }),
    );
    const { client, until } = await connect(port);
    const [ws] = opened;
    client.pause();
    // Longer than what the kernel takes.
    const long = 'x'.repeat(30_000_000);
    for (let sent = 0; sent < 2; sent++) {
      ws!.send(long, false, false);
      await new Promise(setImmediate);
    }
    client.resume();
    while (ws!.getBufferedAmount() > 1.5 * long.length) await new Promise(setImmediate);
    ws!.send(long, false, false);
    await until(3);
    await untilTrue(() => drained.at(-1) === 0);
  });

  test('each write that waits counts with the memory that it takes', async () => {
    const { port, opened } = await room();
    const { client } = await connect(port);
    const [ws] = opened;
    client.pause();
    while (ws!.getBufferedAmount() === 0) {
      ws!.send(numbered(0), false, false);
      await new Promise(setImmediate);
    }
    const before = ws!.getBufferedAmount();
    for (let sent = 0; sent < 1000; sent++) {
      ws!.send('short', false, false);
      await new Promise(setImmediate);
    }
    // uWebSockets.js joins them.
    const least = name === 'native' ? 7 : 107;
    expect(ws!.getBufferedAmount() - before).toBeGreaterThanOrEqual(1000 * least);
    client.resume();
    await untilTrue(() => ws!.getBufferedAmount() === 0);
  });

  test('a slow member of a topic costs the others nothing', async () => {
    const { port, app, opened, overflows } = await room();
    const slow = await connect(port);
    const fast = await connect(port);
    slow.client.pause();
    let published = 0;
    while (overflows.length === 0) {
      app.publish('room', numbered(published++), false, false);
      await fast.until(published);
      expect(opened[0]!.getBufferedAmount()).toBeLessThan(MAX + SLACK);
    }
    expect(fast.received.map(numberOf)).toEqual(Array.from({ length: published }, (_, number) => number));
    slow.client.resume();
    await slow.until(1);
    const count = slow.received.length;
    expect(slow.received.map(numberOf)).toEqual(Array.from({ length: count }, (_, number) => number));
  });

  test('the pongs to a client that does not read are bounded too', async () => {
    let isOpen = true;
    const close = () => {
      isOpen = false;
    };
    const { port, opened } = await room({ close });
    const raw = await RawWebSocket.to(port);
    const { socket } = raw.connection;
    socket.pause();
    const ping = clientFrame(opcodes.ping, Buffer.alloc(125));
    const pings = Buffer.concat(Array.from({ length: 8000 }, () => ping));
    // 40 MB of pings.
    // A client that sends faster than the worker can follow is disconnected.
    for (let n = 0; n < 40 && isOpen; n++) {
      await new Promise((resolve) => socket.write(pings, resolve));
      if (isOpen) expect(opened[0]!.getBufferedAmount()).toBeLessThan(MAX + SLACK);
    }
  });

  test('a client that neither reads nor writes any more keeps no connection', async () => {
    const engine = new Engine();
    const { port } = await start(base, ({ app }) => void engine.attach(app));
    const { connection } = await RawWebSocket.to(port, '/socket.io/?EIO=4&transport=websocket');
    connection.socket.pause();
    const [session] = Object.values(engine.clients);
    while (session!.bufferedAmount < MAX) {
      session!.send(numbered(0));
      await new Promise(setImmediate);
    }
    connection.socket.end();
    await untilTrue(() => engine.connectionGuard.open === 0);
    expect(engine.clientsCount).toBe(0);
    engine.close();
  });

  test('a silent client is disconnected, and one that answers pings is not', async () => {
    // uWebSockets.js waits for 8 s at least.
    const idleTimeout = name === 'native' ? 8 : 3;
    const ended: string[] = [];
    const { port } = await start(base, (app) => {
      app.ws('/silent', { idleTimeout, close: (code) => void ended.push(`silent ${code}`) });
      app.ws('/talks', { idleTimeout, close: () => void ended.push('talking') });
    });
    const silent = await RawWebSocket.to(port, '/silent');
    const talking = await RawWebSocket.to(port, '/talks');
    await whileActing(500, () => talking.send(clientFrame(opcodes.pong, Buffer.alloc(0))), silent.closed);
    await untilTrue(() => ended.length > 0);
    expect(ended).toEqual(['silent 1006']);
  });
});
