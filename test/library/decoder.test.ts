import { expect, test } from '@jest/globals';
import { Decoder as StockDecoder } from 'socket.io-parser';
import { Decoder } from '../../src/engine/parser/parser.js';

/** What a decoder makes of a text: the packet, or the error. */
function read(decoder: { on(event: 'decoded', listener: (packet: object) => void): unknown; add(text: string): void }) {
  let packet: object | undefined;
  decoder.on('decoded', (decoded) => {
    packet = decoded;
  });
  return (text: string): object | string => {
    packet = undefined;
    try {
      decoder.add(text);
    } catch {
      return 'error';
    }
    return { ...(packet as object | undefined) };
  };
}

const names = ['echo', 'with \\"quotes\\"', 'ü\\n', '', 'e'.repeat(100)];
const values = [
  '""',
  '"plain text of some length"',
  '"[\\"echo\\",\\"]"',
  '"ü € 👍"',
  '"\\u0001\\\\"',
  '"raw \u0001 control"',
  '"two","values"',
  '"unfinished',
  '"',
  ']',
  '7',
  '{"a":"b"}',
  `"${'x'.repeat(600)}"`,
];

test('events that arrive again and again are read as socket.io-parser reads them', () => {
  const [ours, stock] = [read(new Decoder()), read(new StockDecoder() as never)];
  for (const name of names) {
    for (let times = 0; times < 4; times++) {
      for (const value of values) {
        for (const text of [`2["${name}","known"]`, `2["${name}",${value}]`, `2["${name}",${value}`]) {
          expect([text, ours(text)]).toEqual([text, stock(text)]);
        }
      }
    }
  }
});

test('a reserved name is rejected however often it arrives', () => {
  const ours = read(new Decoder());
  for (let times = 0; times < 4; times++) expect(ours('2["disconnect","now"]')).toBe('error');
});
