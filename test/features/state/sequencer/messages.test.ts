import { expect, test } from '@jest/globals';
import { MalformedMessage } from '../../../../src/base/errors.js';
import {
  decodeFromMachine,
  decodeStateMessage,
  encodeStateMessage,
  type FromSequencer,
} from '../../../../src/features/state/sequencer/messages.js';

const change = { clock: 5, origin: 'a-_Z', expires: undefined };
const changes = [
  { ...change, key: 'text', value: '{"a":"ü€😀"}', seq: 1 },
  { ...change, key: 'bytes', value: Buffer.from([0, 255, 1]), seq: 2 ** 40 },
  { ...change, key: 'owned', value: '1', owner: 'w-_1' },
  { ...change, key: 'empty', value: Buffer.alloc(0), expires: 1_800_000_000_000 },
  { ...change, key: 'long', value: JSON.stringify('x'.repeat(200_000)) },
  { ...change, key: 'gone', value: undefined, clock: Number.MAX_SAFE_INTEGER },
];

test('a message is read as it was written', () => {
  const message = { type: 'changes', room: '0\x1e/\x1equotes', seq: 5, acked: 7, changes } as unknown as FromSequencer;
  expect(decodeStateMessage(encodeStateMessage(message))).toEqual(message);
  const reply = { type: 'reply', room: 'r', answers: 3, error: 'STATE_FULL' } as FromSequencer;
  expect(decodeStateMessage(encodeStateMessage(reply))).toEqual(reply);
});

test('values do not keep the bytes that they came in', () => {
  const bytes = { ...change, key: 'bytes', value: Buffer.alloc(100) };
  const read = decodeFromMachine(
    encodeStateMessage({ type: 'page', room: 'r', changes: [bytes, ...changes.slice(4)] }),
  );
  const [first] = (read as { changes: readonly { value: unknown }[] }).changes;
  // The message has 200,000. Small values share the pool of Node.js, whose size depends on its version.
  expect((first!.value as Buffer).buffer.byteLength).toBeLessThan(100_000);
});

test('what another machine says is checked', () => {
  const fine = { type: 'changes', room: 'r', changes: changes.map((each) => ({ ...each, seq: undefined })) };
  expect(decodeFromMachine(encodeStateMessage(fine as never))).toEqual(fine);
  const bytes = encodeStateMessage(fine as never);
  const wrong: unknown[] = [
    { ...fine, type: 'other' },
    { ...fine, type: '__proto__' },
    { ...fine, room: 5 },
    { type: 'pull', room: 'r', after: -1 },
    { type: 'page', room: 'r' },
    { type: 'digests', digests: [5] },
    { ...fine, changes: [{ ...changes[0]!, origin: 'a b' }] },
    { ...fine, changes: [{ ...changes[0]!, key: '' }] },
    { ...fine, changes: [{ ...changes[0]!, owner: 'a b' }] },
    { ...fine, changes: [{ ...changes[0]!, clock: 0.5 }] },
    { ...fine, changes: [{ ...changes[0]!, clock: -1 }] },
  ];
  for (const message of wrong)
    expect(() => decodeFromMachine(encodeStateMessage(message as never))).toThrow(MalformedMessage);
  for (const cut of [0, 3, 10, bytes.length - 1]) {
    expect(() => decodeFromMachine(bytes.subarray(0, cut))).toThrow(MalformedMessage);
  }
  for (const given of ['null', '5', '[]']) {
    const head = Buffer.alloc(4);
    head.writeUInt32LE(given.length);
    expect(() => decodeFromMachine(Buffer.concat([head, Buffer.from(given)]))).toThrow(MalformedMessage);
  }
});
