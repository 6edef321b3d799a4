import { describe, expect, test } from '@jest/globals';
import { Encoder as StockEncoder } from 'socket.io-parser';
import { Encoder } from '../../src/engine/parser/parser.js';

const EVENT = 2;
const texts = [
  '',
  'plain',
  'quoted "text" \\ \n\t\0',
  'ü € 👍',
  '\u2028\u2029<&>',
  '\ud800 alone',
  '{"a":1}',
  'x'.repeat(600),
];
const events: unknown[] = [
  'echo',
  'with "quotes"',
  '',
  'ü\n',
  7,
  undefined,
  null,
  Symbol('event'),
  { toJSON: () => 'e' },
];

describe('an event with one text is encoded as socket.io-parser encodes it', () => {
  test.each(['/', '/admin', ''])('in namespace "%s"', (nsp) => {
    const [ours, stock] = [new Encoder(), new StockEncoder()];
    for (const event of events) {
      for (const text of texts) {
        const packet = () => ({ type: EVENT, nsp, data: [event, text] });
        const expected = stock.encode(packet());
        // Long texts are encoded in another way from the second time on.
        for (let times = 0; times < 3; times++) expect(ours.encode(packet())).toEqual(expected);
      }
    }
  });
});
