import { createRequire } from 'node:module';
import type { Writable } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { framingOf } from '../../src/server/http/raw-request.js';
import { parseHead } from '../../src/server/http/response-head.js';
import { clientFrame, closePayload, FrameReader, opcodes } from '../../src/server/upgrade/frames.js';

/** Parts of ws that its types leave out. */
const { Receiver, Sender } = createRequire(import.meta.url)('ws') as {
  Receiver: new (options: object) => Writable;
  Sender: { frame(data: Buffer, options: object): Buffer[] };
};

/** The frame as a server sends it. */
function serverFrame(opcode: number, payload: Buffer, fin: boolean): Buffer {
  return Buffer.concat(Sender.frame(payload, { fin, rsv1: false, opcode, mask: false, readOnly: true }));
}

describe('frames', () => {
  test('of a server are read from pieces of any size', () => {
    const length = fc.oneof(fc.nat(300), fc.integer({ min: 65_530, max: 70_000 }));
    const frames = fc.array(fc.tuple(fc.constantFrom(0, 1, 2), length, fc.boolean()), { maxLength: 4 });
    fc.assert(
      fc.property(frames, fc.integer({ min: 1, max: 10_000 }), (list, step) => {
        const bytes = Buffer.concat(list.map(([opcode, size, fin]) => serverFrame(opcode, Buffer.alloc(size, 7), fin)));
        const reader = new FrameReader();
        const read = [];
        for (let at = 0; at < bytes.length; at += step) read.push(...reader.push(bytes.subarray(at, at + step)));
        const isSame = ({ payload }: { payload: Buffer }) => payload.equals(Buffer.alloc(payload.length, 7));
        expect(read.every(isSame)).toBe(true);
        expect(read.map(({ opcode, isFinal, payload }) => [opcode, payload.length, isFinal])).toEqual(list);
      }),
      { numRuns: 30 },
    );
  });

  test.each([0, 125, 126, 65_535, 65_536])('of a client with %i bytes are read by ws', async (length) => {
    const receiver = new Receiver({ isServer: true });
    const heard = new Promise((resolve) => receiver.on('message', resolve));
    receiver.write(clientFrame(opcodes.binary, Buffer.alloc(length, 7)));
    expect(await heard).toEqual(Buffer.alloc(length, 7));
  });

  test('that close carry a code, or nothing', () => {
    expect(closePayload(4000, Buffer.from('bye'))).toEqual(Buffer.from('\x0f\xa0bye', 'latin1'));
    expect(closePayload(1005, Buffer.alloc(0))).toEqual(Buffer.alloc(0));
  });
});

describe('heads of responses', () => {
  test('lose what uWebSockets.js writes itself', () => {
    const text = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nDate: now\r\nX: a: b\r\nKeep-Alive: timeout=65\r\n\r\n';
    expect(parseHead(text)).toMatchObject({
      status: '200 OK',
      length: 5,
      headers: ['X', 'a: b', 'Keep-Alive', 'timeout=9'],
      isLast: false,
      isBodiless: false,
    });
    expect(parseHead('HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n')).toMatchObject({
      isLast: true,
      isBodiless: true,
      length: undefined,
    });
  });
});

describe('bodies of requests', () => {
  test.each([
    [[], 'none'],
    [['content-length', '0'], 'none'],
    [['content-length', '5'], 'body'],
    [['transfer-encoding', 'chunked'], 'body'],
    [['content-length', '5', 'transfer-encoding', 'chunked'], 'ambiguous'],
    [['content-length', '5', 'content-length', '6'], 'ambiguous'],
    [['content-length', '+5'], 'ambiguous'],
    [['transfer-encoding', 'gzip, chunked'], 'ambiguous'],
  ])('%j are framed as %s', (rawHeaders, framing) => {
    expect(framingOf({ rawHeaders })).toBe(framing);
  });
});
