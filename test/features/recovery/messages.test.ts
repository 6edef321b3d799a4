import { serialize } from 'node:v8';
import { expect, jest, test } from '@jest/globals';
import { MalformedMessage } from '../../../src/base/errors.js';
import {
  decodeMessage,
  encodeMessage,
  type RecoveryMessage,
  type SessionState,
} from '../../../src/features/recovery/messages.js';

const session: SessionState = {
  ...{ pid: 'pid', sid: 'sid', rooms: ['hall'], data: {}, worker: '2', resumedFrom: undefined },
  ...{ disconnectedAt: 1, aliveAt: 1, direct: { packets: [], floor: 0, floorAt: 0, last: 0, lastAt: 0 } },
};
const withData = (data: unknown): RecoveryMessage => ({ nsp: '/', type: 'session', session: { ...session, data } });
const dataOf = (message: RecoveryMessage): unknown =>
  (decodeMessage(encodeMessage(message)) as { session: SessionState }).session.data;

test('data of an application passes as it is, or as in JSON where it holds what cannot be cloned', () => {
  expect(dataOf(withData({ since: new Date(5), seen: new Set([1]) }))).toEqual({
    since: new Date(5),
    seen: new Set([1]),
  });
  expect(dataOf(withData({ name: 'ann', greet: () => 'hello' }))).toEqual({ name: 'ann' });
});

test('data that contains itself and a function is left out, with one warning', () => {
  const data: Record<string, unknown> = { greet: () => 'hello' };
  data.self = data;
  const emitWarning = jest.spyOn(process, 'emitWarning').mockReturnValue();
  expect(dataOf(withData(data))).toEqual({});
  expect(dataOf(withData(data))).toEqual({});
  expect(emitWarning.mock.calls).toMatchObject([[expect.any(String), { code: 'GJALLAR_UNSENDABLE' }]]);
  emitWarning.mockRestore();
});

test.each([
  ['no message at all', Buffer.from('no message')],
  ['null', serialize(null)],
  ['an unknown type', serialize({ nsp: '/', type: 'toString' })],
  ['no namespace', serialize({ type: 'ask' })],
  ['a wrong field', serialize({ nsp: '/', type: 'taken', pid: 5 })],
])('%s is malformed', (_name, bytes) => {
  expect(() => decodeMessage(bytes)).toThrow(MalformedMessage);
});
