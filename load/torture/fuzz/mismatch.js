import { isDeepStrictEqual } from 'node:util';

/** Fails where the server did something else than it should. */
export function expectSame(actual, expected, input) {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new Error(`expected ${shown(expected)}, got ${shown(actual)} for ${shown(input)}`);
}

export function shown(value) {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  return text.length > 700 ? `${text.slice(0, 700)}…` : text;
}
