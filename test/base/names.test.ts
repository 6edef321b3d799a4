import { describe, expect, test } from '@jest/globals';
import { isNamedHere, joinTexts, NO_ROOM, nameOf, roomsNamed, splitTexts } from '../../src/base/names.js';

const PLAIN = ['', 'a', 'room 😀', 'é', '€', '7', '"7"', 'null', '#1', 'a\0', '\x1f', '1:a', '\ufffd', '\ufffdd800'];
/** UTF-8 alone would make many of them equal. */
const TEXTS = [
  ...PLAIN,
  'a\ud800',
  'a\ud801',
  'a\udc00\ud800',
  '\ud800',
  '\0',
  '\0a',
  '\x007',
  '\0"7"',
  '\0null',
  '\0#',
];
const OTHERS = [
  ...[7, -7, 0.1, 1e21, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 7n, -7n],
  ...[null, undefined, true, false, Symbol.for('a'), Symbol.for('"a"'), Symbol.for('a\ud800')],
];
const HERE = [{}, {}, [], [['a']], ['a'], { toString: 1 }, { toString: 1 }, Object.create(null), () => 7, Symbol('a')];
HERE.push(Symbol('a'), Buffer.from('a'), new Proxy({}, { get: () => expect('the room').toBe('not read') }));

describe('the name of a room', () => {
  test('is that of no other room, in UTF-8 too', () => {
    const rooms = [...TEXTS, ...OTHERS, ...HERE];
    const names = rooms.map((room) => Buffer.from(nameOf(room)).toString());
    expect(new Set(names).size).toBe(rooms.length);
    const read = roomsNamed(names);
    expect(read).toHaveLength(rooms.length);
    for (const [index, room] of rooms.entries()) expect(Object.is(read[index], room)).toBe(true);
    expect(rooms.map(nameOf)).toEqual(names);
  });

  test('is that of the rooms that are the same in a Map', () => {
    expect(nameOf(-0)).toBe(nameOf(0));
    expect(nameOf(Number.NaN)).toBe(nameOf(Number.NaN));
  });

  test('is a plain text itself', () => {
    expect(PLAIN.map(nameOf)).toEqual(PLAIN);
  });

  test('tells which rooms no other process has', () => {
    expect([...TEXTS, ...OTHERS].map(nameOf).filter(isNamedHere)).toEqual([]);
    expect(HERE.map(nameOf).every(isNamedHere)).toBe(true);
    expect(roomsNamed([nameOf({}).replace(/ .*/, ' of another process')])).toEqual([NO_ROOM]);
  });
});

test('joined texts are read back, whatever is in them', () => {
  const lists = [
    [],
    [''],
    ['', ''],
    ['a', 'b'],
    ['a1:b'],
    ['a', '1:b'],
    ['/team-1\x1fsecret'],
    ['/team-1', 'secret'],
    ['1:'],
  ];
  const joined = lists.map((texts) => joinTexts(...texts));
  expect(new Set(joined).size).toBe(lists.length);
  expect(joined.map(splitTexts)).toEqual(lists);
});
