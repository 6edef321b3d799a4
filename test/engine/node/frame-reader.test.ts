import { constants, deflateRawSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { type FrameTarget, inflated, readFrames, type Unfinished } from '../../../src/engine/node/frame-reader.js';
import { Random } from '../../io/rooms/support/random.js';

/** What the reader of frames makes of the bytes of a client. Source of the cases: RFC 6455, RFC 7692, and the tests of ws. */

const TEXT = 0x1;
const BINARY = 0x2;
const CLOSE = 0x8;
const PING = 0x9;
const PONG = 0xa;
const FINAL = 0x80;
const COMPRESSED = 0x40;
const MAX_PAYLOAD = 70_000;

interface FrameParts {
  /** Whether more fragments follow. */
  more?: boolean;
  mask?: readonly number[];
  /** How many bytes the length takes; the least by default. */
  lengthBytes?: 1 | 2 | 8;
  reserved?: number;
}

const MASK = [0x37, 0xfa, 0x21, 0x3d] as const;

/** A frame of a client. */
function frame(opcode: number, content: string | Uint8Array = '', parts: FrameParts = {}): Buffer {
  const payload = Buffer.from(content as string);
  const { more = false, mask = MASK, reserved = 0 } = parts;
  const least = payload.length < 126 ? 1 : payload.length < 65_536 ? 2 : 8;
  const { lengthBytes = least } = parts;
  const first = (more ? 0 : FINAL) | reserved | opcode;
  const length = Buffer.alloc(lengthBytes === 1 ? 0 : lengthBytes);
  if (lengthBytes === 2) length.writeUInt16BE(payload.length);
  if (lengthBytes === 8) length.writeBigUInt64BE(BigInt(payload.length));
  const short = lengthBytes === 1 ? payload.length : lengthBytes === 2 ? 126 : 127;
  const masked = payload.map((byte, at) => byte ^ mask[at % 4]!);
  return Buffer.concat([Buffer.from([first, 0x80 | short]), length, Buffer.from(mask), masked]);
}

const closing = (code: number, reason: string | Uint8Array = '') =>
  frame(CLOSE, Buffer.concat([Buffer.from([code >> 8, code & 255]), Buffer.from(reason as string)]));
const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const deflated = (content: string | Uint8Array) =>
  deflateRawSync(content, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4);
const compressed = (opcode: number, content: string, more = false) =>
  frame(opcode, deflated(content), { reserved: COMPRESSED, more });

/** What a reader reports, as one line per event. */
class Events implements FrameTarget {
  readonly maxPayload = MAX_PAYLOAD;
  readonly lines: string[] = [];
  isReading = true;

  constructor(readonly compresses: boolean) {}

  onCompressed(data: Buffer, isBinary: boolean): void {
    const content = inflated(data, isBinary, this);
    if (content) this.onMessage(content, isBinary);
  }

  onMessage(data: Buffer, isBinary: boolean): void {
    this.lines.push(isBinary ? `bytes ${short(data.toString('hex'))}` : `text ${short(data.toString())}`);
  }
  onPing(data: Buffer): void {
    this.lines.push(`ping ${data}`);
  }
  onPong(data: Buffer): void {
    this.lines.push(`pong ${data}`);
  }
  onCloseFrame(code: number, reason: Buffer): void {
    this.lines.push(`close ${code} ${reason}`);
    this.isReading = false;
  }
  onFault(code: number, reason: string): void {
    this.lines.push(`fault ${code} ${reason.replace('Received an invalid frame: ', '')}`);
    this.isReading = false;
  }
}

const short = (text: string) => (text.length > 40 ? `${text.slice(0, 20)}… ${text.length}` : text);

/** The events of some bytes that arrive in pieces of a length. */
function read(bytes: Buffer, pieceLength: number, compresses: boolean): string[] {
  const events = new Events(compresses);
  let unfinished: Unfinished | undefined;
  for (let at = 0; at < bytes.length && events.isReading; at += pieceLength) {
    // The reader takes masks off in place, and the next piece reuses the memory.
    const piece = Buffer.from(bytes.subarray(at, at + pieceLength));
    unfinished = readFrames(piece, unfinished, events);
    piece.fill(0xff);
  }
  return events.lines;
}

type Case = readonly [what: string, bytes: readonly Buffer[], lines: readonly string[]];

function check(cases: readonly Case[], compresses = false): void {
  test.each(cases)('%s', (_what, parts, lines) => {
    const bytes = Buffer.concat(parts);
    for (const pieceLength of [bytes.length, 1, 2, 3, 7, 1000]) {
      if (bytes.length / pieceLength > 2000) continue;
      expect(read(bytes, pieceLength, compresses)).toEqual(lines);
    }
  });
}

describe('messages', () => {
  check([
    ['the example of RFC 6455', [hex('81 85 37fa213d 7f9f4d5158')], ['text Hello']],
    [
      'several in one piece',
      [frame(TEXT, 'a'), frame(BINARY, 'b'), frame(TEXT, 'c')],
      ['text a', 'bytes 62', 'text c'],
    ],
    ['a mask of zeros', [frame(TEXT, 'plain', { mask: [0, 0, 0, 0] })], ['text plain']],
    ['a length of one byte', [frame(TEXT, 'x'.repeat(125))], [`text ${'x'.repeat(20)}… 125`]],
    ['a length of two bytes', [frame(TEXT, 'x'.repeat(126))], [`text ${'x'.repeat(20)}… 126`]],
    ['a length of eight bytes', [frame(TEXT, 'x'.repeat(65_536))], [`text ${'x'.repeat(20)}… 65536`]],
    ['a length in two bytes that fits into one', [frame(TEXT, 'hi', { lengthBytes: 2 })], ['text hi']],
    ['a length in eight bytes that fits into one', [frame(TEXT, 'hi', { lengthBytes: 8 })], ['text hi']],
    ['the longest', [frame(BINARY, Buffer.alloc(MAX_PAYLOAD))], [`bytes ${'0'.repeat(20)}… ${2 * MAX_PAYLOAD}`]],
  ]);

  test('20,000 empty ones arrive in one piece', () => {
    const lines = read(Buffer.concat(Array.from({ length: 20_000 }, () => frame(TEXT))), 1e9, false);
    expect([lines.length, new Set(lines)]).toEqual([20_000, new Set(['text '])]);
  });
});

describe('fragments', () => {
  check([
    ['that are empty', [frame(TEXT, '', { more: true }), frame(0, '', { more: true }), frame(0, '')], ['text ']],
    [
      'with control frames between them',
      [frame(TEXT, 'He', { more: true }), frame(PING, 'p'), frame(0, 'l', { more: true }), frame(PONG), frame(0, 'lo')],
      ['ping p', 'pong ', 'text Hello'],
    ],
    [
      'with a close frame between them',
      [frame(TEXT, 'He', { more: true }), closing(1000), frame(0, 'llo')],
      ['close 1000 '],
    ],
    [
      'with an invalid character that only the whole shows',
      [frame(TEXT, hex('f09f'), { more: true }), frame(0, 'x')],
      ['fault 1007 text that is not UTF-8'],
    ],
    [
      'as long as one message may be, twice',
      Array.from({ length: 2 }, () => [
        frame(BINARY, Buffer.alloc(MAX_PAYLOAD - 1), { more: true }),
        frame(0, Buffer.alloc(1)),
      ]).flat(),
      Array.from({ length: 2 }, () => `bytes ${'0'.repeat(20)}… ${2 * MAX_PAYLOAD}`),
    ],
    [
      'that are too long together',
      [frame(BINARY, Buffer.alloc(MAX_PAYLOAD), { more: true }), frame(0, 'x')],
      ['fault 1009 Received too big message'],
    ],
    ['without a beginning', [frame(0, 'x')], ['fault 1002 a continuation of nothing']],
    [
      'after the last one',
      [frame(TEXT, 'a', { more: true }), frame(0, 'b'), frame(0, 'c')],
      ['text ab', 'fault 1002 a continuation of nothing'],
    ],
    [
      'with a text between them',
      [frame(TEXT, 'a', { more: true }), frame(TEXT, 'b')],
      ['fault 1002 a message within another'],
    ],
  ]);

  test('take memory by their bytes, not by their number', () => {
    const events = new Events(false);
    let unfinished = readFrames(frame(BINARY, 'x', { more: true }), undefined, events)!;
    const one = frame(0, 'x', { more: true });
    const none = frame(0, '', { more: true });
    for (let count = 0; count < 20_000; count++) {
      unfinished = readFrames(Buffer.concat([one, none]), unfinished, events)!;
    }
    expect(unfinished.fragments.length).toBe(20_001);
    expect(unfinished.fragments.size).toBeLessThanOrEqual(2 * 20_001);
    expect(unfinished.frame.size).toBe(0);
    expect(readFrames(frame(0), unfinished, events)).toBeUndefined();
    expect(events.lines).toEqual([`bytes ${'78'.repeat(10)}… 40002`]);
  });
});

describe('control frames', () => {
  const longest = 'x'.repeat(125);
  check([
    ['a ping', [frame(PING, 'data')], ['ping data']],
    ['the longest ping', [frame(PING, longest)], [`ping ${longest}`]],
    ['a pong', [frame(PONG, 'data')], ['pong data']],
    ['a ping that is too long', [frame(PING, `${longest}x`)], ['fault 1002 a control frame that is too long']],
    ['a fragment of a ping', [frame(PING, 'a', { more: true })], ['fault 1002 a fragment of a control frame']],
    [
      'a short ping with a length of two bytes',
      [frame(PING, 'a', { lengthBytes: 2 })],
      ['fault 1002 a control frame that is too long'],
    ],
  ]);
});

describe('close frames', () => {
  const allowed = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999];
  const forbidden = [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535];
  check([
    ['without a code', [frame(CLOSE)], ['close 1005 ']],
    ['with a code and a reason', [closing(1000, 'bye ü')], ['close 1000 bye ü']],
    ['before other frames, which are ignored', [closing(1000), frame(TEXT, 'late'), hex('ff ff')], ['close 1000 ']],
    ['with half a code', [frame(CLOSE, hex('03'))], ['fault 1002 an invalid close frame']],
    ['with a reason that is not UTF-8', [closing(1000, hex('ceba e1'))], ['fault 1007 text that is not UTF-8']],
    ...allowed.map((code): Case => [`with the code ${code}`, [closing(code)], [`close ${code} `]]),
    ...forbidden.map((code): Case => [`with the code ${code}`, [closing(code)], ['fault 1002 an invalid close frame']]),
  ]);
});

describe('what is not allowed', () => {
  const unmasked = Buffer.concat([hex('81 02'), Buffer.from('hi')]);
  const reserved = 'fault 1002 a reserved bit';
  check([
    ['a frame without a mask', [unmasked], ['fault 1002 a frame without a mask']],
    ['the first reserved bit', [frame(TEXT, 'hi', { reserved: 0x40 })], [reserved]],
    ['the second reserved bit', [frame(TEXT, 'hi', { reserved: 0x20 })], [reserved]],
    ['the third reserved bit', [frame(TEXT, 'hi', { reserved: 0x10 })], [reserved]],
    ['a reserved bit of a ping', [frame(PING, '', { reserved: 0x40 })], [reserved]],
    ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map(
      (opcode): Case => [`the opcode ${opcode}`, [frame(opcode)], ['fault 1002 an unknown opcode']],
    ),
    [
      'a head that is too long, without its payload',
      [hex('82 ff 0000000000011171 00000000')],
      ['fault 1009 Received too big message'],
    ],
    ['a length of 2^53', [hex('82 ff 0020000000000000 00000000')], ['fault 1009 Received too big message']],
    [
      'a length with the highest bit',
      [hex('82 ff 8000000000000000 00000000')],
      ['fault 1009 Received too big message'],
    ],
    ...['c328', 'c0af', 'eda080', 'f4908080', 'f8888080', '80', 'e6b0'].map(
      (bytes): Case => [`the text ${bytes}`, [frame(TEXT, hex(bytes))], ['fault 1007 text that is not UTF-8']],
    ),
  ]);
});

describe('with compression', () => {
  const text = 'compressible '.repeat(100);
  check(
    [
      ['a text', [compressed(TEXT, text)], [`text ${text.slice(0, 20)}… ${text.length}`]],
      ['bytes', [compressed(BINARY, 'abc')], ['bytes 616263']],
      ['an empty message', [frame(TEXT, hex('00'), { reserved: COMPRESSED })], ['text ']],
      [
        'one after another, without a context',
        [compressed(TEXT, 'abc'), compressed(TEXT, 'abc')],
        ['text abc', 'text abc'],
      ],
      ['a message that is not compressed', [frame(TEXT, 'plain')], ['text plain']],
      [
        'fragments, of which only the first has the bit',
        [
          frame(TEXT, deflated('Hello').subarray(0, 3), { reserved: COMPRESSED, more: true }),
          frame(PING),
          frame(0, deflated('Hello').subarray(3)),
        ],
        ['ping ', 'text Hello'],
      ],
      [
        'the bit in a later fragment',
        [compressed(TEXT, 'a', true), frame(0, 'b', { reserved: COMPRESSED })],
        ['fault 1002 a reserved bit'],
      ],
      ['the bit of a ping', [frame(PING, '', { reserved: COMPRESSED })], ['fault 1002 a reserved bit']],
      ['another reserved bit', [frame(TEXT, 'a', { reserved: COMPRESSED | 0x20 })], ['fault 1002 a reserved bit']],
      [
        'what cannot be decompressed',
        [frame(TEXT, hex('ffffffff'), { reserved: COMPRESSED })],
        ['fault 1007 a message that cannot be decompressed'],
      ],
      [
        'a text that is not UTF-8',
        [frame(TEXT, deflated(hex('c328')), { reserved: COMPRESSED })],
        ['fault 1007 text that is not UTF-8'],
      ],
      [
        'a message that is short until it is decompressed',
        [compressed(TEXT, 'x'.repeat(MAX_PAYLOAD + 1))],
        ['fault 1009 Received too big message'],
      ],
      [
        'nothing after a fault',
        [frame(TEXT, hex('ffff'), { reserved: COMPRESSED }), frame(TEXT, 'late')],
        ['fault 1007 a message that cannot be decompressed'],
      ],
    ],
    true,
  );
});

describe('random frames', () => {
  const SEEDS = 300;
  const randomOf = (seed: number) => {
    const random = new Random(seed);
    return (below: number) => random.below(below);
  };

  test('arrive the same however they are cut', () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = randomOf(seed);
      const parts: Buffer[] = [];
      const lines: string[] = [];
      for (let count = 0; count < 20; count++) {
        const isBinary = random(2) === 0;
        const content = 'aß水😀'.repeat(random(60));
        const bytes = Buffer.from(content);
        lines.push(isBinary ? `bytes ${short(bytes.toString('hex'))}` : `text ${short(content)}`);
        const cuts = Array.from({ length: random(4) }, () => random(bytes.length + 1)).sort(
          (one, other) => one - other,
        );
        const bounds = [0, ...cuts, bytes.length];
        const pings: string[] = [];
        for (let index = 1; index < bounds.length; index++) {
          const mask = [random(256), random(256), random(256), random(256)];
          const more = index < bounds.length - 1;
          const opcode = index > 1 ? 0 : isBinary ? BINARY : TEXT;
          parts.push(frame(opcode, bytes.subarray(bounds[index - 1], bounds[index]), { more, mask }));
          if (more && random(3) === 0) {
            parts.push(frame(PING, `${count}`, { mask }));
            pings.push(`ping ${count}`);
          }
        }
        lines.splice(-1, 0, ...pings);
      }
      const bytes = Buffer.concat(parts);
      const events = new Events(false);
      let unfinished: Unfinished | undefined;
      for (let at = 0; at < bytes.length; ) {
        const piece = Buffer.from(bytes.subarray(at, at + 1 + random(random(2) ? 9 : 2000)));
        at += piece.length;
        unfinished = readFrames(piece, unfinished, events);
      }
      expect({ seed, lines: events.lines, unfinished }).toEqual({ seed, lines, unfinished: undefined });
    }
  });

  test('of random bytes end in a fault or a close frame, or wait for more, and never throw', () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = randomOf(seed);
      const events = new Events(seed % 2 === 0);
      let unfinished: Unfinished | undefined;
      for (let count = 0; count < 200 && events.isReading; count++) {
        // The opcode and the mask are mostly right, so that more than the first byte is read.
        const head = [random(4) ? FINAL | random(3) : random(256), random(8) ? 0x80 | random(128) : random(256)];
        const bytes = Buffer.from([...head, ...Array.from({ length: random(40) }, () => random(256))]);
        unfinished = readFrames(bytes, unfinished, events);
        const { frame: part, fragments } = unfinished ?? {};
        expect((part?.length ?? 0) + (fragments?.length ?? 0)).toBeLessThanOrEqual(2 * MAX_PAYLOAD + 14);
      }
      const ends = events.lines.filter((line) => /^(fault|close)/.test(line)).length;
      expect({ seed, ends }).toEqual({ seed, ends: events.isReading ? 0 : 1 });
    }
  });
});
