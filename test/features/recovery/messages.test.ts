import { serialize } from 'node:v8';
import { expect, jest, test } from '@jest/globals';
import { MalformedMessage } from '../../../src/base/errors.js';
import { codec, textPacker } from '../../../src/features/recovery/messages.js';

const passed = (data: unknown): unknown => textPacker.unpack(textPacker.pack(data));

test('data of an application passes as it is, or as in JSON where it holds what cannot be cloned', () => {
  expect(passed({ since: new Date(5), seen: new Set([1]) })).toEqual({
    since: new Date(5),
    seen: new Set([1]),
  });
  expect(passed({ name: 'ann', greet: () => 'hello' })).toEqual({ name: 'ann' });
});

test('data that contains itself and a function is left out, with one warning', () => {
  const data: Record<string, unknown> = { greet: () => 'hello' };
  data.self = data;
  const emitWarning = jest.spyOn(process, 'emitWarning').mockReturnValue();
  expect(passed(data)).toEqual({});
  expect(passed(data)).toEqual({});
  expect(emitWarning.mock.calls).toMatchObject([[expect.any(String), { code: 'GJALLAR_UNSENDABLE' }]]);
  emitWarning.mockRestore();
});

test.each([
  ['no message at all', Buffer.from('no message')],
  ['null', serialize(null)],
  ['a message alone', serialize({ type: 'sync', request: 1 })],
  ['a message without a type', serialize([{ namespace: '/' }])],
])('%s is malformed', (_name, bytes) => {
  expect(() => codec().decode(bytes)).toThrow(MalformedMessage);
});
