import { describe, expect, jest, test } from '@jest/globals';
import {
  callback,
  checked,
  either,
  fields,
  flag,
  integer,
  list,
  number,
  type OptionKind,
  oneOf,
  row,
  settingsOf,
  text,
  value,
} from '../../src/base/options.js';

const { NaN: none, POSITIVE_INFINITY: all } = Number;
const map = new Map();
const named = { name: 'x', more: 1 };

test.each<[kind: OptionKind<unknown & {}>, words: string, given: unknown[], meaning: unknown[], rejected: unknown[]]>([
  [number(1, undefined, 'ms'), 'a number from 1 (ms)', [1, ' 2.5 ', '1e3', all], [1, 2.5, 1000, all], [0, none, 'x']],
  [integer(0, 9), 'an integer from 0 to 9', [0, '9'], [0, 9], ['10', -1, '-1', '0x5', 1.5, true]],
  [flag, 'true or false', [true, 'false'], [true, false], ['TRUE', 1, 'toString']],
  [oneOf(['a', 'b']), 'one of a, b', ['b'], ['b'], ['B', '']],
  [text('letters', /^[a-z]+$/), 'letters', ['ab'], ['ab'], ['a1', 5]],
  [list('numbers', integer(0)), 'numbers', ['1, 2', [3]], [[1, 2], [3]], ['1,', ['x'], 1]],
  [callback(), 'a function', [test], [test], [{}, 'f', null]],
  [value('what has get', (given) => 'get' in given), 'what has get', [map], [map], [{}, 'get']],
  [either(flag, text()), 'true or false, or a string', ['true', 'x'], [true, 'x'], [1]],
  [fields({ name: text() }), 'an object with name (a string)', [named], [named], [{ name: 1 }, [], null]],
])('%#. a kind reads what its words say', (kind, words, given, meaning, rejected) => {
  expect(kind.accepts).toBe(words);
  expect(given.map((one) => kind.read(one))).toEqual(meaning);
  for (const one of rejected) expect([one, kind.read(one)]).toEqual([one, undefined]);
});

describe('the options of a table', () => {
  const table = { port: row(integer(0), 80), url: row(text('a name', /^\w+$/)) };

  test('are converted, those that are missing have their defaults, and an unknown one has a warning', () => {
    const warn = jest.spyOn(process, 'emitWarning').mockReturnValue();
    expect(checked('X', table, { port: '5', url: null })).toEqual({ port: 5 });
    expect(settingsOf('X', table, { url: 'a', prot: 1 })).toEqual({ port: 80, url: 'a' });
    expect(warn.mock.calls.map(([message]) => message)).toEqual([
      expect.stringMatching(/^X has no option prot, and ignores it\. Did you mean port\?/),
    ]);
    warn.mockRestore();
  });

  test('warn of unknown fields, where others have no use', () => {
    const warn = jest.spyOn(process, 'emitWarning').mockReturnValue();
    expect(fields({ name: text() }).read({ bogus: 1 })).toEqual({ bogus: 1 });
    expect(warn).not.toHaveBeenCalled();
    expect(fields({ name: text() }, 'Y').read({ name: 'x', nam: 1 })).toEqual({ name: 'x', nam: 1 });
    expect(warn).toHaveBeenCalledWith(
      expect.stringMatching(/^Y has no option nam, .* Did you mean name\?/),
      expect.anything(),
    );
    warn.mockRestore();
  });

  test.each([
    [5, 'The options of X must be an object, not 5.'],
    [{ port: 'x' }, "The option port of X must be an integer from 0, not 'x'. Correct or remove it."],
    // A URL may have a password.
    [{ url: 'redis://a:b@c' }, 'The option url of X must be a name, not a URL. Correct or remove it.'],
    [{ url: { password: 'b' } }, 'The option url of X must be a name, not this object. Correct or remove it.'],
  ])('%j is rejected', (given, message) => {
    expect(() => checked('X', table, given as object)).toThrow(expect.objectContaining({ code: 'BAD_INPUT', message }));
  });
});
