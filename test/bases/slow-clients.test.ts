import { once } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocket as Client } from 'ws';
import type { HttpResponse, WebSocket } from '../../src/sockets.js';
import { closeConnections, RawConnection } from '../engine/support/tcp.js';
import { until, whileActing } from '../support/until.js';
import { clientFrame, opcodes, RawWebSocket } from './support/frames.js';
import { closeApps, sources, start } from './support/sources.js';

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

describe.each(sources)('%s sockets', (_name, sockets) => {
  async function room() {
    const opened: WebSocket<unknown>[] = [];
    const dropped: [WebSocket<unknown>, number][] = [];
    const drained: number[] = [];
    const { port, app } = await start(sockets, (made) =>
      made.ws('/*', {
        maxBackpressure: MAX,
        open: (ws) => {
          ws.subscribe('room');
          opened.push(ws);
        },
        dropped: (ws, message) => void dropped.push([ws, numberOf(Buffer.from(message).toString())]),
        drain: (ws) => void drained.push(ws.getBufferedAmount()),
      }),
    );
    return { port, app, opened, dropped, drained };
  }

  test('messages wait up to the limit, are dropped beyond it, and the rest arrives in order', async () => {
    const { port, opened, dropped, drained } = await room();
    const { client, received, until } = await connect(port);
    const [ws] = opened;
    client.pause();
    const results: number[] = [];
    for (let number = 0; results.filter((each) => each === 2).length < 3; number++) {
      results.push(ws!.send(numbered(number)));
      expect(ws!.getBufferedAmount()).toBeLessThan(MAX + SLACK);
      if (number % 10 === 0) await new Promise(setImmediate);
    }
    expect(results[0]).toBe(1);
    expect(results).toContain(0);
    const accepted = results.flatMap((each, number) => (each === 2 ? [] : [number]));
    expect(dropped.map(([, number]) => number)).toEqual(
      results.flatMap((each, number) => (each === 2 ? [number] : [])),
    );
    expect(drained).toEqual([]);
    client.resume();
    await until(accepted.length);
    expect(received.map(numberOf)).toEqual(accepted);
    while (ws!.getBufferedAmount() > 0) await new Promise(setImmediate);
    while (drained.at(-1) !== 0) await new Promise(setImmediate);
    // It is as good as new.
    expect(ws!.send(numbered(7))).toBe(1);
    await until(accepted.length + 1);
  });

  test('a slow member of a topic costs the others nothing', async () => {
    const { port, app, opened, dropped } = await room();
    const slow = await connect(port);
    const fast = await connect(port);
    slow.client.pause();
    let published = 0;
    while (dropped.length < 5) {
      app.publish('room', numbered(published++));
      await fast.until(published);
      expect(opened[0]!.getBufferedAmount()).toBeLessThan(MAX + SLACK);
    }
    expect(fast.received.map(numberOf)).toEqual(Array.from({ length: published }, (_, number) => number));
    expect(new Set(dropped.map(([ws]) => ws))).toEqual(new Set([opened[0]]));
    slow.client.resume();
    await slow.until(published - dropped.length);
    const missed = new Set(dropped.map(([, number]) => number));
    expect(slow.received.map(numberOf)).toEqual(fast.received.map(numberOf).filter((number) => !missed.has(number)));
  });

  test('the pongs to a client that does not read are bounded too', async () => {
    const { port, opened } = await room();
    const raw = await RawWebSocket.to(port);
    const { socket } = raw.connection;
    socket.pause();
    const ping = clientFrame(opcodes.ping, Buffer.alloc(125));
    const pings = Buffer.concat(Array.from({ length: 8000 }, () => ping));
    // 40 MB of pings.
    for (let n = 0; n < 40; n++) {
      await new Promise((resolve) => socket.write(pings, resolve));
      expect(opened[0]!.getBufferedAmount()).toBeLessThan(MAX + SLACK);
    }
  });

  test('those that do not read, or do not write, are disconnected', async () => {
    const ended: string[] = [];
    const body = Buffer.alloc(20_000_000);
    const rest = (res: HttpResponse, what: string) => res.onAborted(() => ended.push(what));
    const { port } = await start(sockets, (app) => {
      app.get('/unread', (res) => {
        rest(res, 'response');
        res.cork(() => void res.tryEnd(body, body.length));
        res.onWritable((offset) => res.tryEnd(body.subarray(offset), body.length)[0]);
      });
      app.post('/slow', (res) => {
        rest(res, 'body');
        res.onData(() => {});
      });
      app.any('/waits', (res) => void rest(res, 'poll'));
      app.ws('/silent', {
        idleTimeout: 8,
        sendPingsAutomatically: false,
        close: (_ws, code) => void ended.push(`silent ${code}`),
      });
      app.ws('/talks', { idleTimeout: 8, sendPingsAutomatically: false, close: () => void ended.push('talking') });
      app.ws('/pinged', { idleTimeout: 8, sendPingsAutomatically: true, close: () => void ended.push('pinged') });
    });
    const head = (path: string, ...headers: string[]) => `${[path, 'Host: x', ...headers].join('\r\n')}\r\n\r\n`;
    const unread = await RawConnection.to(port, false);
    unread.write(head('GET /unread HTTP/1.1'));
    const slow = await RawConnection.to(port);
    slow.write(head('POST /slow HTTP/1.1', 'Content-Length: 900000'));
    const waiting = await RawConnection.to(port);
    waiting.write(head('GET /waits HTTP/1.1'));
    const headless = await RawConnection.to(port);
    headless.write('GET /unread HTTP/1.1\r\nX: ');
    const silent = await RawWebSocket.to(port, '/silent');
    const talking = await RawWebSocket.to(port, '/talks');
    // The clients of ws answer pings.
    await connectTo(`ws://127.0.0.1:${port}/pinged`);
    const talk = () => {
      slow.write('x');
      headless.write('x');
      talking.send(clientFrame(opcodes.pong, Buffer.alloc(0)));
    };
    const responded = until(() => ended.includes('response'));
    await whileActing(500, talk, Promise.all([slow.closed, headless.closed, silent.closed, responded]));
    expect(ended.sort()).toEqual(['body', 'response', 'silent 1006']);
  });
});

async function connectTo(url: string): Promise<void> {
  const client = new Client(url);
  clients.add(client);
  await once(client, 'open');
}

test('fragments of one byte end their connection before they take more memory than a message', async () => {
  const [, sockets] = sources.find(([name]) => name === 'portable')!;
  const { port } = await start(sockets, (made) => made.ws('/*', { maxPayloadLength: 100_000 }));
  const client = await RawWebSocket.to(port);
  const byte = Buffer.from('x');
  const fragment = (opcode: number) => {
    const bytes = clientFrame(opcode, byte);
    bytes[0]! &= 0x7f;
    return bytes;
  };
  // 256, and one for each KiB of the longest message, 98.
  const parts = Array.from({ length: 352 }, () => fragment(opcodes.continuation));
  client.send(
    fragment(opcodes.text),
    ...parts,
    clientFrame(opcodes.continuation, byte),
    clientFrame(opcodes.ping, byte),
  );
  expect((await client.next()).opcode).toBe(opcodes.pong);
  client.send(fragment(opcodes.text), ...parts, fragment(opcodes.continuation), fragment(opcodes.continuation));
  const { opcode, payload } = await client.next();
  expect([opcode, payload.readUInt16BE(0)]).toEqual([opcodes.close, 1008]);
  await client.closed;
});
