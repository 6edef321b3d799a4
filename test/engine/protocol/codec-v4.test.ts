import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decodeText, encodePayload, encodeText, readPayload } from '../../../src/engine/protocol/codec-v4.js';
import { type Packet, PacketFormatError, packetTypes, type ReadPacket } from '../../../src/engine/protocol/packet.js';

/** Text that can stand in a payload: the separator of packets cannot be told from data. */
const text = fc.string({ unit: 'grapheme', minLength: 1 }).filter((value) => !value.includes('\x1e'));
const packets = fc.array(
  fc.oneof(
    fc.record({ type: fc.constantFrom(...packetTypes), data: fc.option(text, { nil: undefined }) }),
    fc.record({ type: fc.constant('message' as const), data: fc.uint8Array() }),
  ),
  { minLength: 1 },
);

function read(payload: string): ReadPacket[] {
  return [...readPayload(payload)];
}

describe('Engine.IO v4 packets', () => {
  test('have a digit for each type, as the protocol lists them', () => {
    expect(packetTypes.map((type) => encodeText(type, undefined))).toEqual(['0', '1', '2', '3', '4', '5', '6']);
    expect(encodeText('message', 'hello')).toBe('4hello');
    expect(encodeText('message', '')).toBe('4');
  });

  test('are read as they were written', () => {
    fc.assert(
      fc.property(fc.constantFrom(...packetTypes), fc.option(text, { nil: undefined }), (type, data) => {
        expect(decodeText(encodeText(type, data))).toEqual([type, data]);
      }),
    );
  });

  test('travel in payloads, separated, with binary as base64', () => {
    const payload: Packet[] = [
      { type: 'message', data: 'hello' },
      { type: 'ping' },
      { type: 'message', data: Uint8Array.of(1, 2, 3, 4) },
    ];
    expect(encodePayload(payload)).toBe('4hello\x1e2\x1ebAQIDBA==');
  });

  test('come out of a payload as they went in', () => {
    fc.assert(
      fc.property(packets, (written) => {
        const expected = written.map(({ type, data }) => [type, data instanceof Uint8Array ? Buffer.from(data) : data]);
        expect(read(encodePayload(written))).toEqual(expected);
      }),
    );
  });

  test('that are none are refused with a PacketFormatError, and nothing else', () => {
    const input = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom('4', 'b', '\x1e', '7', 'a') }),
    );
    fc.assert(
      fc.property(input, (payload) => {
        try {
          for (const [type] of read(payload)) expect(packetTypes).toContain(type);
        } catch (error) {
          expect(error).toBeInstanceOf(PacketFormatError);
        }
      }),
    );
  });

  test.each([[''], ['7'], ['a'], ['4a\x1e'], ['\x1e4a'], ['-']])('%j is no payload', (payload) => {
    expect(() => read(payload)).toThrow(PacketFormatError);
  });

  test('behind one that the reader stops at are left unread', () => {
    const seen: string[] = [];
    for (const [type] of readPayload('4a\x1e1\x1einvalid')) {
      seen.push(type);
      if (type === 'close') break;
    }
    expect(seen).toEqual(['message', 'close']);
  });
});
