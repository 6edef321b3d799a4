import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  decodeBinary,
  decodeText,
  encodeBase64,
  encodeBinary,
  encodePayload,
  readBytes,
  readPayload,
} from '../../../src/engine/protocol/codec-v3.js';
import { type Packet, PacketFormatError, packetTypes, type ReadPacket } from '../../../src/engine/protocol/packet.js';

const text = fc.string({ unit: 'grapheme', minLength: 1 });
const packet: fc.Arbitrary<Packet> = fc.oneof(
  fc.record({ type: fc.constantFrom(...packetTypes), data: fc.option(text, { nil: undefined }) }),
  fc.record({ type: fc.constant('message' as const), data: fc.uint8Array() }),
);
const packets = fc.array(packet, { minLength: 1 });

function read(payload: string | Buffer): ReadPacket[] {
  return typeof payload === 'string' ? [...readPayload(payload)] : [...readBytes(payload)];
}

function plain({ type, data }: Packet): ReadPacket {
  return [type, data instanceof Uint8Array ? Buffer.from(data) : data];
}

/** Only a PacketFormatError may come of any input. */
function expectSafe(decode: () => unknown): void {
  try {
    decode();
  } catch (error) {
    expect(error).toBeInstanceOf(PacketFormatError);
  }
}

describe('Engine.IO v3', () => {
  test('payloads count characters', () => {
    const payload: Packet[] = [{ type: 'message', data: 'hé€' }, { type: 'ping' }];
    expect(encodePayload(payload, true)).toBe('4:4hé€1:2');
  });

  test('payloads with binary count bytes for clients that read binary, and are base64 for others', () => {
    const payload: Packet[] = [
      { type: 'message', data: '€' },
      { type: 'message', data: Uint8Array.of(1, 2) },
    ];
    const expected = [0, 4, 255, 0x34, 0xe2, 0x82, 0xac, 1, 3, 255, 4, 1, 2];
    expect(encodePayload(payload, true)).toEqual(Buffer.from(expected));
    expect(encodePayload(payload, false)).toBe('2:4€6:b4AQI=');
  });

  test.each([[true], [false]])('packets come out of a payload as they went in, with binary: %s', (supportsBinary) => {
    fc.assert(
      fc.property(packets, (written) => {
        expect(read(encodePayload(written, supportsBinary))).toEqual(written.map(plain));
      }),
    );
  });

  test('packets come out of a message as they went in', () => {
    fc.assert(
      fc.property(packet, (written) => {
        if (written.data instanceof Uint8Array) expect(decodeBinary(encodeBinary(written))).toEqual(plain(written));
        expect(decodeText(encodeBase64(written))).toEqual(plain(written));
      }),
    );
  });

  test('input that is no packet is refused with a PacketFormatError, and nothing else', () => {
    const digits = fc.string({ unit: fc.constantFrom('0', '1', '4', ':', 'b', '9') });
    fc.assert(fc.property(fc.oneof(fc.string({ unit: 'binary' }), digits), (input) => expectSafe(() => read(input))));
    const bytes = fc.oneof(
      fc.uint8Array(),
      fc.array(fc.constantFrom(0, 1, 2, 9, 255, 52)).map((list) => Uint8Array.from(list)),
    );
    fc.assert(
      fc.property(bytes, (input) => {
        expectSafe(() => read(Buffer.from(input)));
        expectSafe(() => decodeBinary(Buffer.from(input)));
      }),
    );
  });

  test.each([[''], [':'], ['4'], ['0:'], ['-1:4'], ['1e1:4'], ['2:4'], ['1:8'], ['99999999999:4']])('%j', (payload) => {
    expect(() => read(payload)).toThrow(PacketFormatError);
  });

  test.each([[[0]], [[0, 255]], [[2, 1, 255, 52]], [[0, 9, 255, 52]], [[0, 12, 255]], [[0, 1, 255, 56]]])(
    'bytes %j',
    (bytes) => {
      expect(() => read(Buffer.from(bytes))).toThrow(PacketFormatError);
    },
  );
});
