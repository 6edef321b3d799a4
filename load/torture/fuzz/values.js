import fc from 'fast-check';

/** `fc.oneof` of arbitraries, or of pairs with the weight of each. */
export const oneOf = (...parts) =>
  fc.oneof(...parts.map((part) => (Array.isArray(part) ? { weight: part[0], arbitrary: part[1] } : part)));

/** One to so many of a kind, as often many as few. */
export const upTo = (maxLength, of) => fc.array(of, { minLength: 1, maxLength, size: 'max' });

/** Names that mean something to JavaScript, to the server, or to what it is made of. */
export const hostileNames = [
  ...'__proto__ constructor prototype toString valueOf hasOwnProperty then toJSON length room:x user:x direct:x ..'.split(
    ' ',
  ),
  ...'../../etc/passwd %2e%2e * # {{7*7}} <script> NaN null -1 1e999'.split(' '),
  'plain\x1fx',
  '\0',
  'a\0b',
  '\r\nX: y',
  "'; DROP TABLE log; --",
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
  '9'.repeat(40),
  ' ',
  '',
];

/** Any text, halves of characters and control characters too. */
export const text = oneOf(
  [3, fc.constantFrom(...hostileNames)],
  [2, fc.string({ unit: 'binary', maxLength: 140 })],
  [2, fc.string({ maxLength: 40 })],
  [1, fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 }).map((units) => String.fromCharCode(...units))],
  [1, fc.integer({ min: 9_990, max: 10_010 }).map((length) => 'x'.repeat(length))],
);

const scalar = oneOf(
  text,
  fc.integer(),
  fc.double(),
  fc.constantFrom(null, true, false, 0, -0, -1, 2 ** 53, -(2 ** 53), 1e308, 0.5),
);

const nestings = fc.constantFrom(10, 100, 900).map((depth) => JSON.parse('['.repeat(depth) + ']'.repeat(depth)));

/** Any value that JSON has. Objects have `__proto__` and the like among their own keys, as JSON makes them. */
export const json = fc.letrec((tie) => ({
  value: oneOf(
    { maxDepth: 3, depthSize: 'small' },
    [6, scalar],
    [2, fc.array(tie('value'), { maxLength: 4 })],
    [2, fc.array(fc.tuple(text, tie('value')), { maxLength: 4 }).map(Object.fromEntries)],
    [1, nestings],
  ),
})).value;

/** An object with some of these fields, mostly of the kind they should be of, and maybe others. */
export function fields(shape) {
  const entries = Object.entries(shape).map(([name, arbitrary]) =>
    oneOf(
      [8, arbitrary.map((value) => [name, value])],
      [1, json.map((value) => [name, value])],
      [1, fc.constant(undefined)],
    ),
  );
  const extra = fc.option(fc.tuple(text, json), { nil: undefined, freq: 6 });
  // Behind all others an extra field would take the place of one of the same name.
  return fc.tuple(extra, ...entries).map((all) => Object.fromEntries(all.filter((entry) => entry !== undefined)));
}

/** Rooms that are used over and over, so that there is something in them. */
export const rooms = ['fuzz-a', 'fuzz-b', '__proto__', 'constructor', 'fuzz ü', '💥'];
export const room = oneOf([5, fc.constantFrom(...rooms)], [1, text]);

const insertions = oneOf(
  fc.constantFrom('', '"', '[', ']', '{', '}', ',', ':', '\\', '\0', '\r\n', '9', '-', '/', '%'),
  fc.string({ unit: 'binary', maxLength: 3 }),
);

/** A text with some of its characters changed, left out, doubled or put in. @param {fc.Arbitrary<string>} of */
export function mutated(of, { inserts = insertions, removed = [0, 0, 1, 1, 4], least = 0 } = {}) {
  const edit = fc.record({ at: fc.nat(10_000), remove: fc.constantFrom(...removed), insert: inserts });
  return fc.tuple(of, fc.array(edit, { minLength: least, maxLength: 3 + least })).map(([original, edits]) => {
    let changed = original;
    for (const { at, remove, insert } of edits) {
      const from = at % (changed.length + 1);
      changed = changed.slice(0, from) + insert + changed.slice(from + remove);
    }
    return changed;
  });
}
