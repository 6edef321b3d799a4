import { deflateRawSync } from 'node:zlib';
import { type FrameTarget, inflated, readFrames, type Unfinished } from '../../../../src/engine/node/frame-reader.js';
import {
  COMPRESSED,
  closePayload,
  compressedFrameOf,
  FINAL,
  frameOf,
  opcodes,
} from '../../../../src/engine/node/frames.js';
import type { Target } from '../guide.js';
import { cut, expectSame } from './same.js';

const MASK = [1, 2, 3, 4];

/** A frame of a client. */
function masked(first: number, payload: string | Uint8Array): Buffer {
  const frame = frameOf(typeof payload === 'string' ? payload : Buffer.from(payload), 0);
  const head = frame.length - Buffer.byteLength(payload);
  frame[0] = first;
  frame[1]! |= 0x80;
  const content = frame.subarray(head).map((byte, at) => byte ^ MASK[at % 4]!);
  return Buffer.concat([frame.subarray(0, head), Buffer.from(MASK), content]);
}

const final = (opcode: number, payload: string | Uint8Array = '') => masked(FINAL | opcode, payload);
const compressed = (text: string) => masked(FINAL | COMPRESSED | opcodes.text, deflateRawSync(text));
const close = (code: number, reason = '') => final(opcodes.close, closePayload(code, Buffer.from(reason)));

/** How it is read: bounds, extensions, and the lengths of the parts that arrive. */
const HEAD = 3;
const setup = (bits: number, ...frames: Buffer[]) => Buffer.concat([Buffer.from([bits, 3, 9]), ...frames]);

/** All that a connection tells, if its bytes arrive in these parts. */
function heard(parts: readonly Buffer[], bits: number): unknown[] {
  const events: unknown[] = [];
  const target: FrameTarget & { isReading: boolean } = {
    isReading: true,
    maxPayload: (bits & 1) === 0 ? 100_000 : 200,
    compresses: (bits & 2) === 0,
    onMessage: (data, isBinary) => events.push([data.toString('latin1'), isBinary]),
    onCompressed: (data, isBinary) => {
      const content = inflated(data, isBinary, target);
      if (content) events.push([content.toString('latin1'), isBinary, 'compressed']);
    },
    onPing: (data) => events.push(['ping', data.toString('latin1')]),
    onPong: (data) => events.push(['pong', data.toString('latin1')]),
    onCloseFrame: (code, reason) => {
      events.push(['close', code, reason.toString()]);
      target.isReading = false;
    },
    onFault: (code, reason) => {
      events.push(['fault', code, reason]);
      target.isReading = false;
    },
  };
  let unfinished: Unfinished | undefined;
  for (const part of parts) if (target.isReading) unfinished = readFrames(part, unfinished, target);
  return events;
}

const frames: Target = {
  seeds: [
    setup(0, final(opcodes.text, 'hello'), final(opcodes.binary, Uint8Array.of(1, 2)), final(opcodes.ping, 'a')),
    setup(0, masked(opcodes.text, 'he'), final(opcodes.pong), final(opcodes.continuation, 'llo')),
    setup(0, masked(opcodes.binary, ''), masked(opcodes.continuation, 'a'), final(opcodes.continuation, '')),
    setup(0, final(opcodes.text, 'x'.repeat(300)), final(opcodes.text, 'é'.repeat(40_000).slice(0, 33_000))),
    setup(1, final(opcodes.text, 'x'.repeat(300))),
    setup(1, masked(opcodes.text, 'x'.repeat(150)), final(opcodes.continuation, 'x'.repeat(150))),
    setup(0, compressed('hello hello hello')),
    setup(1, compressed('hello '.repeat(100))),
    setup(0, masked(FINAL | COMPRESSED | opcodes.text, 'nothing')),
    setup(0, masked(FINAL | COMPRESSED | opcodes.text, deflateRawSync(Buffer.of(0xff)))),
    setup(2, compressed('hello')),
    setup(0, final(opcodes.text, Uint8Array.of(0xff))),
    setup(0, final(opcodes.close)),
    ...[1000, 1005, 999, 3000, 4999, 5000].map((code) => setup(0, close(code, 'bye'))),
    setup(0, final(opcodes.close, Uint8Array.of(3))),
    setup(0, final(opcodes.close, Uint8Array.of(3, 232, 0xff))),
    setup(0, final(opcodes.continuation, 'x')),
    setup(0, masked(opcodes.text, 'a'), final(opcodes.text, 'b')),
    setup(0, masked(opcodes.ping, 'a')),
    setup(0, final(opcodes.ping, 'a'.repeat(126))),
    ...[3, 11].map((opcode) => setup(0, final(opcode))),
    setup(0, masked(0x90 | opcodes.text, 'a')),
    setup(0, frameOf('unmasked', opcodes.text)),
    setup(0, Buffer.from([0x81, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4])),
    setup(0, compressedFrameOf(frameOf('a', opcodes.text))),
  ],
  run(input) {
    if (input.length < HEAD) return;
    const [bits = 0, ...lengths] = input.subarray(0, HEAD);
    const bytes = input.subarray(HEAD);
    const whole = heard([Buffer.from(bytes)], bits);
    for (const each of [lengths, [bytes.length < 500 ? 0 : 900], [63, 2]])
      expectSame(heard(cut(bytes, each), bits), whole);
    // Nothing comes after the end.
    const end = whole.findIndex((event) => ['close', 'fault'].includes((event as unknown[])[0] as string));
    if (end >= 0) expectSame(end, whole.length - 1);
  },
};

export const webSocketTargets = { frames };
