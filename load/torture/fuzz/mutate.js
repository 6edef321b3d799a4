import fc from 'fast-check';

/** What means something to JavaScript, JSON, HTTP, the protocols, or what the server is made of. */
const HOSTILE = [
  ...[
    '',
    '"',
    '[',
    ']',
    '{',
    '}',
    ',',
    ':',
    '\\',
    '-',
    '/',
    '%',
    '9',
    '#',
    ' ',
    '\t',
    '\0',
    '\n',
    '\r\n',
    '\x1e',
    '\x7f',
  ],
  ...['__proto__', 'constructor', 'toString', 'toJSON', 'then', 'length', 'disconnect', 'newListener', 'user:x'],
  ...[
    'null',
    'NaN',
    '-1',
    '1e999',
    '99999999999999999999',
    '{}',
    '[]',
    '{"_placeholder":true,"num":5}',
    '1000000-',
    '0{}',
  ],
  ...['../', '/../../etc/passwd', '%2e%2e%2f', '%c0%ae', '%zz', '%00', '/socket.io', "'; DROP TABLE log; --"],
  ...['\ud800', '\u202e', '\ufeff', 'İ', '💥', '\xff', '\xc3\x28', 'é'.repeat(65), 'x'.repeat(129), 'x'.repeat(10_001)],
  ...['Content-Length: 3\r\n', 'Content-Length: +12\r\n', 'Transfer-Encoding: chunked\r\n', 'Transfer-Encoding: x\r\n'],
  ...[
    'Host: y\r\n',
    ' HTTP/1.0',
    '\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n',
    'ffffffffffffffff1\r\n',
    'A: b\r\n'.repeat(300),
  ],
  ...['['.repeat(40_000), '{"a":'.repeat(1_001), ',0'.repeat(45_000), 'x'.repeat(100_001)],
];

const inserted = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...HOSTILE) },
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
);
const edit = fc.record({ at: fc.nat(), remove: fc.constantFrom(0, 0, 1, 1, 4, 1_000), insert: inserted });
/** What RFC 6455 has in a frame's header. */
const header = fc.record(
  {
    opcode: fc.constantFrom(0, 2, 3, 7, 8, 9, 10, 11, 15),
    fin: fc.constant(false),
    rsv: fc.integer({ min: 1, max: 7 }),
    masked: fc.constant(false),
    declared: fc.constantFrom(0, 200_000, 2 ** 32, Number.MAX_SAFE_INTEGER),
  },
  { requiredKeys: [] },
);
const change = fc.oneof(
  { weight: 6, arbitrary: fc.record({ text: edit }) },
  { weight: 3, arbitrary: fc.record({ wire: edit }) },
  { weight: 2, arbitrary: fc.record({ header }) },
  fc.record({ times: fc.constantFrom(0, 0, 2, 100, 5_000) }),
  fc.record({ isLater: fc.constant(true) }),
);

/** Some changes, each of a step. */
export const changes = fc.array(fc.tuple(fc.nat(), change), { minLength: 1, maxLength: 4 });

/** A text, or bytes as latin1, with a part left out and another put in. */
const edited = (text, { at, remove, insert }) => {
  const from = at % (text.length + 1);
  return text.slice(0, from) + insert + text.slice(from + remove);
};

/** How often a step may come at most, in characters in all. */
const MAX_REPEATED = 2_000_000;

/**
 * The steps of a session, changed.
 * @param {{ text: string, want?: RegExp }[]} steps
 * @returns {{ text: string, want?: RegExp, isChanged?: true, encode?: (bytes: Buffer) => Buffer, header?: object }[]}
 */
export function mutated(steps, list) {
  const made = steps.map((step) => ({ ...step }));
  for (const [index, { text, wire, header: of, times, isLater }] of list) {
    const at = index % made.length;
    const step = made[at];
    step.isChanged = true;
    if (text) step.text = edited(step.text, text);
    if (wire) step.encode = (bytes) => Buffer.from(edited(bytes.toString('latin1'), wire), 'latin1');
    if (of) step.header = of;
    if (isLater) made.push(...made.splice(at, 1));
    if (times !== undefined)
      made.splice(at, 1, ...Array(Math.min(times, Math.ceil(MAX_REPEATED / (step.text.length + 1)))).fill(step));
    if (made.length === 0) break;
    // What follows is answered otherwise, or by nobody.
    made[Math.min(at, made.length - 1)].isChanged = true;
  }
  return made;
}
