import { expect, test } from '@jest/globals';
import { receivedWith } from '../../../../src/features/recovery/keeper/missed.js';
import type { SessionState } from '../../../../src/features/recovery/messages.js';
import { encodeOffset } from '../../../../src/features/recovery/offset.js';
import { VersionVector } from '../../../../src/features/recovery/version-vector.js';

const offsetOf = (worker: string, direct: number) => encodeOffset(1000, worker, direct, new VersionVector());
const [before, last] = [offsetOf('before', 3), offsetOf('second', 0)];

/** What is known of a client that its first worker, and then the second one, have handed over to the third one. */
function received(text: string, sentByFirst: number, sentBySecond = 0, aliveAt = 0) {
  const handedOver = `${new VersionVector([
    ['first', sentByFirst],
    ['second', sentBySecond],
  ])}`;
  const session = { resumedFrom: last, named: before, handedOver, worker: 'third', aliveAt } as SessionState;
  const { resumedFrom, direct } = receivedWith(session, text, ({ at }) => at) ?? {};
  return [resumedFrom, direct];
}

test('of a client that was handed over, what was sent to it alone counts down to the last one', () => {
  const ofFirst = offsetOf('first', 2);
  expect(received(ofFirst, 2)).toEqual([ofFirst, 0]);
  expect(received(ofFirst, 3)).toEqual([ofFirst, -1]);
  expect(received(ofFirst, 2, 1)).toEqual([ofFirst, -1]);
});

test('one that has received nothing since may name an event of before', () => {
  expect(received(before, 0)).toEqual([before, Number.NEGATIVE_INFINITY]);
  expect(received(offsetOf('before', 2), 0)).toEqual([undefined, undefined]);
});

test('one that has answered a ping since has received all that was sent before it was handed over', () => {
  expect(received(before, 2, 1, 1000)).toEqual([last, 0]);
});
