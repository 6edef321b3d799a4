import { describe, expect, test } from '@jest/globals';
import {
  combine,
  isCovered,
  isInForce,
  type RevocationRecord,
} from '../../../src/service/accounts/revocation-record.js';

const expires = Date.now() + 3_600_000;
const alive = (at: number, before: number) => ({ id: 'user:ann', at, before, expires });
const lifted = (at: number, lift: number) => ({ id: 'user:ann', at, lifted: lift, expires });

describe('what two sides know about one id', () => {
  test.each<[string, RevocationRecord, RevocationRecord, boolean, number | undefined]>([
    ['two revocations: the wider one', alive(1, 50), alive(2, 40), true, 50],
    ['a revocation, and that it was lifted later', alive(1, 50), lifted(1, 2), false, undefined],
    ['a lift, and an older revocation', alive(2, 50), lifted(1, 2), false, undefined],
    ['a lift, and a later revocation', alive(3, 40), lifted(1, 2), true, 40],
    ['a later revocation after a lift, and the one before it', { ...alive(3, 40), lifted: 2 }, alive(1, 50), true, 40],
    ['two lifts', lifted(1, 2), lifted(1, 4), false, undefined],
  ])('%s', (_, one, other, isOn, before) => {
    for (const combined of [combine(one, other), combine(other, one)]) {
      expect([isInForce(combined), combined.before]).toEqual([isOn, before]);
      // Combining again changes nothing, so two workers never write against each other.
      expect(isCovered(combine(combined, one), combined)).toBe(true);
      expect(isCovered(combine(other, combined), combined)).toBe(true);
    }
  });
});
