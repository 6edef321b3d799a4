import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { hostAndPort, readNatsUrls } from '../src/address.js';
import { PartReader, PROBE, splitMessage } from '../src/parts.js';

/** The header of a part: its kind, the number of the message, the index of the part, and how many there are. */
function partOf(number: number, index: number, count: number, content: string): Buffer {
  const header = Buffer.alloc(9);
  header[0] = 1;
  header.writeUInt32LE(number, 1);
  header.writeUInt16LE(index, 5);
  header.writeUInt16LE(count, 7);
  return Buffer.concat([header, Buffer.from(content)]);
}

describe('messages on NATS', () => {
  test('arrive as they were sent, in payloads that the server accepts, also when senders take turns', () => {
    const bytes = fc.uint8Array({ maxLength: 300 }).map((value) => Buffer.from(value));
    fc.assert(
      fc.property(bytes, bytes, fc.integer({ min: 10, max: 50 }), (one, other, maxPayload) => {
        const reader = new PartReader();
        const sent = [splitMessage(one, 1, maxPayload)!, splitMessage(other, 2 ** 32 + 2, maxPayload)!];
        const received: Buffer[] = [];
        for (let turn = 0; sent.some((payloads) => turn < payloads.length); turn++) {
          for (const payloads of sent) {
            const payload = payloads[turn];
            if (!payload) continue;
            expect(payload.length).toBeLessThanOrEqual(maxPayload);
            const message = reader.read(payload);
            if (message) received.push(message);
          }
        }
        const expected = sent[0]!.length <= sent[1]!.length ? [one, other] : [other, one];
        expect(received).toEqual(expected);
      }),
    );
  });

  test('are rejected before they are sent if they have too many parts', () => {
    expect(splitMessage(Buffer.alloc(70_000), 1, 10)).toBeUndefined();
    expect(splitMessage(Buffer.alloc(100), 1, 9)).toBeUndefined();
    expect(splitMessage(Buffer.alloc(64 * 1024 * 1024 + 1), 1, 1024 * 1024)).toBeUndefined();
  });

  test.each<[string, Buffer[]]>([
    ['an empty payload', [Buffer.alloc(0)]],
    ['an unknown kind', [Buffer.of(9)]],
    ['a probe with content', [Buffer.concat([PROBE, PROBE])]],
    ['an empty part', [partOf(1, 0, 2, '')]],
    ['a part without the one before', [partOf(1, 0, 3, 'a'), partOf(1, 2, 3, 'c')]],
    ['a part beyond the last', [partOf(1, 0, 0, 'a')]],
    ['a part of a message with another length', [partOf(1, 0, 3, 'a'), partOf(1, 1, 2, 'b')]],
    ['a part of another sender', [partOf(1, 0, 2, 'a'), partOf(2, 1, 2, 'b')]],
  ])('%s is malformed', (_name, payloads) => {
    const reader = new PartReader();
    for (const payload of payloads.slice(0, -1)) expect(reader.read(payload)).toBeUndefined();
    expect(() => reader.read(payloads.at(-1)!)).toThrow('part');
    // What follows is read all the same.
    expect(reader.read(partOf(1, 0, 2, 'a'))).toBeUndefined();
    expect(String(reader.read(partOf(1, 1, 2, 'b')))).toBe('ab');
  });

  test('that are never completed do not fill the memory', () => {
    const reader = new PartReader();
    const content = 'x'.repeat(16 * 1024 * 1024);
    for (let number = 0; number < 4; number++) expect(reader.read(partOf(number, 0, 2, content))).toBeUndefined();
    expect(() => reader.read(partOf(4, 0, 2, content))).toThrow('too many messages are incomplete');
    // The oldest was dropped.
    expect(() => reader.read(partOf(0, 1, 2, 'end'))).toThrow('a part of a message is missing');
    expect(reader.read(partOf(4, 1, 2, 'end'))).toHaveLength(content.length + 3);
  });

  test('a probe is no message', () => {
    expect(new PartReader().read(PROBE)).toBeUndefined();
  });
});

test.each([
  ['nats://localhost', { hosts: ['localhost:4222'], isSecure: false }],
  ['tls://user:p%40ss@[::1]:4223/', { hosts: ['[::1]:4223'], isSecure: true, user: 'user', pass: 'p@ss' }],
  ['nats://token@a:1, nats://token@b:2', { hosts: ['a:1', 'b:2'], isSecure: false, token: 'token' }],
  ...[
    ...['localhost:4222', 'http://localhost', 'nats://', 'nats://host:port', 'nats://host/subject', 'nats://:pass@a'],
    ...['nats://a,', 'nats://a,tls://b', 'nats://user:one@a,nats://user:two@b', 'nats://%@a', 'nats://a?tls=1'],
  ].map((url) => [url, undefined] as const),
])('NATS_URL=%s', (url, meaning) => {
  const login = readNatsUrls(url);
  expect(login && { ...login, hosts: login.hosts.map(hostAndPort) }).toEqual(meaning);
});
