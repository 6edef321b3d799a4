import assert from 'node:assert/strict';
import test from 'node:test';
import { frame } from '../harness/connection.js';
import { FrameReader, PEEK } from './frames.js';

/** Reads `stream` cut at the given offsets and returns what was shown. */
function readInPieces(stream, cuts) {
  const reader = new FrameReader();
  const shown = [];
  const onFrame = (list, first, bytes, at, length) =>
    list.push([first, length, Buffer.from(bytes.subarray(at, at + Math.min(length, PEEK))).toString('hex')]);
  let from = 0;
  for (const cut of [...cuts, stream.length]) {
    // A copy in the middle of a larger buffer, overwritten afterwards: offsets must hold, nothing may be kept.
    const room = Buffer.alloc(cut - from + 7, 0xee);
    stream.copy(room, 3, from, cut);
    reader.read(room, 3, 3 + cut - from, onFrame, shown);
    room.fill(0xdd);
    from = cut;
  }
  return shown;
}

const lengths = [0, 1, 2, 60, 125, 126, 127, PEEK - 1, PEEK, PEEK + 1, 10_000, 65_535, 65_536, 70_000, 1];
const payloads = lengths.map((length, n) => Buffer.from(Array.from({ length }, (_, i) => (i * 31 + n) & 0xff)));
const stream = Buffer.concat(payloads.map((payload, n) => frame(payload, { opcode: n % 2 ? 1 : 2, masked: false })));
const expected = payloads.map((payload, n) => [
  n % 2 ? 0x81 : 0x82,
  payload.length,
  payload.subarray(0, PEEK).toString('hex'),
]);

test('shows every frame of one chunk', () => {
  assert.deepEqual(readInPieces(stream, []), expected);
});

test('shows the same frames wherever one cut falls', () => {
  const head = stream.subarray(0, 2000);
  const uncut = readInPieces(head, []);
  for (let cut = 1; cut < head.length; cut++) assert.deepEqual(readInPieces(head, [cut]), uncut, `cut at ${cut}`);
});

test('shows the same frames when every byte arrives alone', () => {
  const cuts = Array.from({ length: stream.length - 1 }, (_, i) => i + 1);
  assert.deepEqual(readInPieces(stream, cuts), expected);
});

test('shows the same frames for many random cuts', () => {
  let seed = 1;
  const random = (below) => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return (seed >>> 8) % below;
  };
  for (let round = 0; round < 200; round++) {
    const cuts = Array.from({ length: 1 + random(60) }, () => 1 + random(stream.length - 1)).sort((a, b) => a - b);
    assert.deepEqual(readInPieces(stream, [...new Set(cuts)]), expected);
  }
});
