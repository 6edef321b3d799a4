import { expect, jest, test } from '@jest/globals';
import { decodeValue, patchedValue } from '../../../src/features/state/values.js';

const patch = (before: string | undefined, fields: string) => {
  const patched = patchedValue(before, fields);
  return typeof patched === 'object' ? patched.value : patched;
};

test('patches of one value decode it once, and the sequencer repeats none', () => {
  const parse = jest.spyOn(JSON, 'parse');
  const first = patch('{"a":1,"b":{"c":1,"d":2}}', '{"b":{"c":null},"e":[null]}');
  expect(first).toBe('{"a":1,"b":{"d":2},"e":[null]}');
  expect(parse).toHaveBeenCalledTimes(2);
  // As the sequencer of this process does.
  expect(patch('{"a":1,"b":{"c":1,"d":2}}', '{"b":{"c":null},"e":[null]}')).toBe(first);
  expect(parse).toHaveBeenCalledTimes(2);
  const second = patch(first, '{"__proto__":{"x":1},"a":null}');
  expect(second).toBe('{"b":{"d":2},"e":[null],"__proto__":{"x":1}}');
  expect(parse).toHaveBeenCalledTimes(3);
  parse.mockRestore();
  // One that fails leaves nothing behind.
  expect(patch(second, '[1]')).toBe('BAD_STATE_VALUE');
  expect(patch(second, `{"long":"${'x'.repeat(70_000)}"}`)).toBe('STATE_PATCH_SIZE');
  expect(decodeValue(patch(second, '{"e":2}'))).toEqual(JSON.parse('{"b":{"d":2},"e":2,"__proto__":{"x":1}}'));
});
