import { describe, expect, test } from '@jest/globals';
import { ClientsAhead } from '../../../src/features/recovery/returns/clients-ahead.js';
import { VersionVector } from '../../../src/features/recovery/version-vector.js';

const none = () => 0;
const offsetOf = (...senders: [string, number][]) => ({ at: Date.now(), senders: new VersionVector(senders) });
/** A broadcast that was sent before the client received its last one. */
const mark = (sender: string, number: number, at = Date.now() - 1000) => [sender, number, at] as const;
/** As many senders as an offset can name. */
const forged = offsetOf(...Array.from({ length: 512 }, (_, n): [string, number] => [`w${n}`, 9]));

describe('clients that have received more than their worker', () => {
  test('do not get again what they have, and get what comes later', () => {
    const ahead = new ClientsAhead();
    ahead.add('one', offsetOf(['a', 2], ['b', 5]), (sender) => (sender === 'b' ? 5 : 0));
    ahead.add('other', offsetOf(['a', 1]), none);
    expect(ahead.size).toBe(2);
    expect(ahead.having(mark('b', 6))).toEqual([]);
    expect(ahead.having(mark('a', 1))).toEqual(['one', 'other']);
    expect(ahead.having(mark('a', 2))).toEqual(['one']);
    expect(ahead.having(mark('a', 3))).toEqual([]);
    expect(ahead.size).toBe(0);
  });

  test('are forgotten when a later broadcast shows that the one between them was lost', () => {
    const ahead = new ClientsAhead();
    ahead.add('one', offsetOf(['a', 2]), none);
    expect(ahead.having(mark('a', 3))).toEqual([]);
    expect(ahead.size).toBe(0);
  });

  test('are forgotten when they leave', () => {
    const ahead = new ClientsAhead();
    ahead.add('one', offsetOf(['a', 2], ['b', 2]), none);
    ahead.remove('one');
    ahead.remove('one');
    expect([ahead.size, ahead.having(mark('a', 1))]).toEqual([0, []]);
  });

  test('get what was sent long after what they had received, whatever number it has', () => {
    const ahead = new ClientsAhead();
    ahead.add('one', offsetOf(['a', 1000]), none);
    expect(ahead.having(mark('a', 1, Date.now() + 2500))).toEqual([]);
    expect(ahead.size).toBe(0);
    // An offset of the future is one of now.
    ahead.add('one', { ...offsetOf(['a', 1000]), at: Date.now() + 60_000 }, none);
    expect(ahead.having(mark('a', 1, Date.now() + 2500))).toEqual([]);
    // Unless the numbers are not theirs: the clock of the sender may be ahead.
    ahead.add('one', { ...offsetOf(['a', 1000]), at: undefined }, none);
    expect(ahead.having(mark('a', 1, Date.now() + 2500))).toEqual(['one']);
  });

  test('take a bounded memory, whatever their offsets name', () => {
    const ahead = new ClientsAhead();
    for (let client = 0; client < 1000; client++) ahead.add(`client-${client}`, forged, none);
    expect(ahead.size).toBeGreaterThan(49_000);
    expect(ahead.size).toBeLessThanOrEqual(50_000);
    const having = ahead.having(mark('w0', 1));
    expect(having).toContain('client-999');
    expect(having).not.toContain('client-0');
  });
});
