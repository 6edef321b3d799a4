import { afterEach, describe, expect, test } from '@jest/globals';
import type { NativeWebSocket } from '../../../src/engine/http/exchange.js';
import { closeWebSockets, openWebSocket } from '../support/raw.js';
import { closeConnections } from '../support/tcp.js';
import { type Behavior, bases, closeApps, start } from './support/bases.js';
import { clientFrame, closePayload, frameHead, opcodes, RawWebSocket } from './support/frames.js';

afterEach(() => {
  closeWebSockets();
  closeConnections();
  closeApps();
});

/** Strings, because jest compares long buffers slowly. */
const comparable = (message: unknown) =>
  typeof message === 'string' ? message : `bytes ${(message as Buffer).toString('hex')}`;

describe.each(bases)('the %s base', (name, base) => {
  /** A route that keeps what happens, and the WebSocket that was opened last. */
  async function route(behavior: Behavior = {}) {
    const events: unknown[] = [];
    const opened: NativeWebSocket[] = [];
    const { port, app } = await start(base, (made) =>
      made.ws('/*', {
        message: (_ws, message, isBinary) => void events.push(isBinary ? message : message.toString()),
        control: () => void events.push('control'),
        close: (code, reason) => void events.push([code, reason]),
        ...behavior,
        open: (ws) => {
          opened.push(ws);
          behavior.open?.(ws);
        },
      }),
    );
    const happened = async (count: number) => {
      while (events.length < count) await new Promise(setImmediate);
      return events;
    };
    return { port, app, events, opened, happened, url: `http://127.0.0.1:${port}/?a=b` };
  }

  test('typed arrays of all classes are sent as their bytes, and what has no bytes is rejected', async () => {
    const { url, opened, app } = await route();
    const client = openWebSocket(url);
    await client.status;
    const [ws] = opened;
    ws!.subscribe('topic');
    const { buffer } = Uint8Array.from({ length: 32 }, (_, index) => index);
    const bytes = comparable(Buffer.from(buffer, 8, 16));
    for (const View of [Int8Array, Uint16Array, Float32Array, Float64Array, BigUint64Array]) {
      const view = new View(buffer, 8, 16 / View.BYTES_PER_ELEMENT);
      ws!.send(view as never, true, false);
      expect(comparable(await client.next())).toBe(bytes);
      app.publish('topic', view, true, false);
      expect(comparable(await client.next())).toBe(bytes);
    }
    ws!.send(buffer.slice(8, 24) as never, true, false);
    expect(comparable(await client.next())).toBe(bytes);
    for (const value of [5, {}, new Blob(['x'])]) {
      expect(() => ws!.send(value as never, true, false)).toThrow('can only be passed by');
    }
  });

  test('messages of all lengths arrive in both directions, as text and as bytes', async () => {
    const { url, opened, happened } = await route({ maxPayload: 200_000 });
    const client = openWebSocket(url);
    await client.status;
    const [ws] = opened;
    const sent: unknown[] = [];
    for (const length of [0, 1, 125, 126, 65_535, 65_536, 150_000]) {
      for (const message of ['ü'.repeat(length / 2), Buffer.alloc(length, 7)]) {
        client.send(message);
        sent.push(comparable(message));
        expect(ws!.send(message, typeof message !== 'string', false)).not.toBe(2);
        expect(comparable(await client.next())).toBe(comparable(message));
      }
    }
    expect((await happened(sent.length)).map(comparable)).toEqual(sent);
  });

  test('what is sent is copied before the call returns', async () => {
    const { url, opened, app } = await route();
    const client = openWebSocket(url);
    await client.status;
    opened[0]!.subscribe('t');
    const bytes = Buffer.from('original');
    opened[0]!.send(bytes, false, false);
    bytes.fill('x');
    bytes.write('topic   ');
    app.publish('t', bytes, false, false);
    bytes.fill('y');
    expect([await client.next(), await client.next()]).toEqual(['original', 'topic   ']);
  });

  test('the messages of a cork keep their order among other calls', async () => {
    const { url, opened } = await route();
    const client = openWebSocket(url);
    await client.status;
    const [ws] = opened;
    ws!.send('1', false, false);
    ws!.cork(() => {
      ws!.send('2', false, false);
      ws!.send('3', false, false);
    });
    ws!.ping();
    ws!.send('4', false, false);
    ws!.end(4000, 'bye');
    expect([await client.next(), await client.next(), await client.next(), await client.next()]).toEqual([
      '1',
      '2',
      '3',
      '4',
    ]);
    expect(await client.closed).toBe(4000);
  });

  test('pings and pongs are told of', async () => {
    const { port, opened, happened } = await route();
    const raw = await RawWebSocket.to(port);
    opened[0]!.ping();
    const ping = await raw.next();
    expect([ping.opcode, ping.payload.toString()]).toEqual([opcodes.ping, '']);
    raw.send(clientFrame(opcodes.pong, ping.payload));
    expect(await happened(1)).toEqual(['control']);
  });

  describe('the end', () => {
    test('by the client has its code and reason', async () => {
      const { port, happened, opened } = await route({ open: (ws) => void ws.subscribe('t') });
      const raw = await RawWebSocket.to(port);
      raw.send(clientFrame(opcodes.close, closePayload(4321, Buffer.from('my reason'))));
      expect(await happened(1)).toEqual([[4321, 'my reason']]);
      const frame = await raw.next();
      expect(frame.opcode).toBe(opcodes.close);
      expect(frame.payload).toEqual(closePayload(4321, Buffer.from('my reason')));
      await raw.closed;
      expect(opened.length).toBe(1);
    });

    test('by the client without a code', async () => {
      const { port, happened } = await route();
      const raw = await RawWebSocket.to(port);
      raw.send(clientFrame(opcodes.close, Buffer.alloc(0)));
      expect(await happened(1)).toEqual([[1005, '']]);
    });

    test('by end() is reported in the call, and the frame comes after the messages', async () => {
      const { port, opened, events } = await route();
      const raw = await RawWebSocket.to(port);
      opened[0]!.send('last', false, false);
      opened[0]!.end(4001, 'enough');
      expect(events).toEqual([[4001, 'enough']]);
      expect((await raw.next()).payload.toString()).toBe('last');
      const { opcode, payload } = await raw.next();
      expect([opcode, payload.readUInt16BE(0), payload.subarray(2).toString()]).toEqual([
        opcodes.close,
        4001,
        'enough',
      ]);
      // What the client sends afterwards is not heard.
      raw.send(clientFrame(opcodes.text, Buffer.from('late')), clientFrame(opcodes.close, payload));
      await raw.closed;
      expect(events.length).toBe(1);
    });

    test('by end() without a code', async () => {
      const { url, opened, events } = await route();
      const client = openWebSocket(url);
      await client.status;
      opened[0]!.end();
      expect(events.length).toBe(1);
      expect(await client.closed).toBe(1005);
    });

    test('by close() is reported in the call, and has no frame', async () => {
      const { url, opened, events } = await route();
      const client = openWebSocket(url);
      await client.status;
      opened[0]!.close();
      expect(events).toEqual([[1006, expect.any(String)]]);
      expect(await client.closed).toBe(1006);
      expect(events.length).toBe(1);
    });

    test.each([['a reset'], ['a FIN']])('by %s is abnormal, and is not blamed on a frame', async (how) => {
      const { port, happened } = await route();
      const { connection } = await RawWebSocket.to(port);
      if (how === 'a FIN') connection.socket.end();
      else connection.socket.resetAndDestroy();
      const [event] = await happened(1);
      const [code, reason] = event as [number, string];
      expect(code).toBe(1006);
      expect(reason === '' || reason.includes('TCP FIN')).toBe(true);
    });

    test('takes the WebSocket out of its topics', async () => {
      const { url, app, happened } = await route({ open: (ws) => void ws.subscribe('t') });
      const client = openWebSocket(url);
      await client.status;
      expect([app.numSubscribers('t'), app.publish('t', 'x', false, false)]).toEqual([1, true]);
      client.socket.terminate();
      await happened(1);
      expect([app.numSubscribers('t'), app.publish('t', 'x', false, false)]).toEqual([0, false]);
    });
  });

  // What else breaks it: test/engine/node/frame-reader.test.ts for node:http, and uWebSockets.js's own tests.
  describe('a client that breaks the protocol is cut off', () => {
    const text = (payload: Buffer) => clientFrame(opcodes.text, payload);
    const changed = (frame: Buffer, first: number) => {
      frame[0] = first;
      return frame;
    };
    test.each([
      ['text that is not UTF-8', text(Buffer.from([0xc3, 0x28]))],
      ['a message that is too long', text(Buffer.alloc(20_000, 'x'))],
      ['the head of a message that is too long', frameHead(opcodes.binary, 2 ** 40)],
      [
        'fragments that are too long together',
        Buffer.concat([changed(text(Buffer.alloc(9000, 'x')), 0x01), changed(text(Buffer.alloc(9000, 'x')), 0x80)]),
      ],
    ])('%s', async (_what, bytes) => {
      const { port, happened, events } = await route({ maxPayload: 16_384 });
      const raw = await RawWebSocket.to(port);
      raw.send(bytes, text(Buffer.from('after')));
      await raw.closed;
      await happened(1);
      expect(events).not.toContain('after');
      // uWebSockets.js does not know masks, and names some faults differently.
      if (name === 'node') expect(events).toEqual([[1006, expect.stringMatching(/^Received /)]]);
    });
  });
});
