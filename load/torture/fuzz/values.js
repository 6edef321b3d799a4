import fc from 'fast-check';

/** Names that mean something to JavaScript, to the server, or to what it is made of. */
export const hostileNames = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'then',
  'toJSON',
  'length',
  'room:x',
  'user:x',
  'direct:x',
  'plain\x1fx',
  '..',
  '../../etc/passwd',
  '%2e%2e',
  '\0',
  'a\0b',
  '\r\nX: y',
  '*',
  '#',
  "'; DROP TABLE log; --",
  '{{7*7}}',
  '<script>',
  '\u202e',
  '\ufeff',
  'İ',
  'ﬀ',
  '\ud800',
  'a\udfff',
  '\x7f',
  '💥',
  'x'.repeat(128),
  'x'.repeat(129),
  'é'.repeat(64),
  'NaN',
  'null',
  '-1',
  '1e999',
  '9'.repeat(40),
  ' ',
  '',
];

/** Any text, halves of characters and control characters too. */
export const text = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...hostileNames) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 140 }) },
  { weight: 2, arbitrary: fc.string({ maxLength: 40 }) },
  {
    weight: 1,
    arbitrary: fc
      .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 })
      .map((units) => String.fromCharCode(...units)),
  },
  { weight: 1, arbitrary: fc.integer({ min: 9_990, max: 10_010 }).map((length) => 'x'.repeat(length)) },
);

const scalar = fc.oneof(
  text,
  fc.integer(),
  fc.double(),
  fc.constantFrom(null, true, false, 0, -0, -1, 2 ** 53, -(2 ** 53), 1e308, 0.5),
);

/** An object that has `__proto__` and the like among its own keys, as JSON makes them. */
function objectOf(entries) {
  const object = {};
  for (const [key, value] of entries)
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  return object;
}

const nestings = fc.constantFrom(10, 100, 900).map((depth) => JSON.parse('['.repeat(depth) + ']'.repeat(depth)));

/** Any value that JSON has. */
export const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    { weight: 6, arbitrary: scalar },
    { weight: 2, arbitrary: fc.array(tie('value'), { maxLength: 4 }) },
    { weight: 2, arbitrary: fc.array(fc.tuple(text, tie('value')), { maxLength: 4 }).map(objectOf) },
    { weight: 1, arbitrary: nestings },
  ),
})).value;

/** An object with some of these fields, mostly of the kind they should be of, and maybe others. */
export function fields(shape) {
  const entries = Object.entries(shape).map(([name, arbitrary]) =>
    fc.oneof(
      { weight: 8, arbitrary: arbitrary.map((value) => [name, value]) },
      { weight: 1, arbitrary: json.map((value) => [name, value]) },
      { weight: 1, arbitrary: fc.constant(undefined) },
    ),
  );
  const extra = fc.option(fc.tuple(text, json), { nil: undefined, freq: 6 });
  // Behind all others an extra field would take the place of one of the same name.
  return fc.tuple(extra, ...entries).map((all) => objectOf(all.filter((entry) => entry !== undefined)));
}

/** Rooms that are used over and over, so that there is something in them. */
export const rooms = ['fuzz-a', 'fuzz-b', '__proto__', 'constructor', 'fuzz ü', '💥'];
export const room = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...rooms) }, { weight: 1, arbitrary: text });

/** A text with some of its characters changed, left out, doubled or put in. @param {fc.Arbitrary<string>} of */
export function mutated(of) {
  const edit = fc.record({
    at: fc.nat(10_000),
    remove: fc.constantFrom(0, 0, 1, 1, 4),
    insert: fc.oneof(
      fc.constantFrom('', '"', '[', ']', '{', '}', ',', ':', '\\', '\0', '\r\n', '9', '-', '/', '%'),
      fc.string({ unit: 'binary', maxLength: 3 }),
    ),
  });
  return fc.tuple(of, fc.array(edit, { minLength: 0, maxLength: 3 })).map(([original, edits]) => {
    let changed = original;
    for (const { at, remove, insert } of edits) {
      const from = at % (changed.length + 1);
      changed = changed.slice(0, from) + insert + changed.slice(from + remove);
    }
    return changed;
  });
}
