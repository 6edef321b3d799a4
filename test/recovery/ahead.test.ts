import { describe, expect, test } from '@jest/globals';
import { Ahead } from '../../src/recovery/returns/ahead.js';

const none = () => 0;
const offsetOf = (...senders: [string, number][]) => ({ senders: new Map(senders) });
/** As many senders as an offset can name. */
const forged = offsetOf(...Array.from({ length: 512 }, (_, n): [string, number] => [`w${n}`, 9]));

describe('clients that have received more than their worker', () => {
  test('do not get again what they have, and get what comes later', () => {
    const ahead = new Ahead();
    ahead.add('one', offsetOf(['a', 2], ['b', 5]), (sender) => (sender === 'b' ? 5 : 0));
    ahead.add('other', offsetOf(['a', 1]), none);
    expect(ahead.size).toBe(2);
    expect(ahead.having('b', 6)).toEqual([]);
    expect(ahead.having('a', 1)).toEqual(['one', 'other']);
    expect(ahead.having('a', 2)).toEqual(['one']);
    expect(ahead.having('a', 3)).toEqual([]);
    expect(ahead.size).toBe(0);
  });

  test('are forgotten when a later broadcast shows that the one between them was lost', () => {
    const ahead = new Ahead();
    ahead.add('one', offsetOf(['a', 2]), none);
    expect(ahead.having('a', 3)).toEqual([]);
    expect(ahead.size).toBe(0);
  });

  test('are forgotten when they leave', () => {
    const ahead = new Ahead();
    ahead.add('one', offsetOf(['a', 2], ['b', 2]), none);
    ahead.remove('one');
    ahead.remove('one');
    expect([ahead.size, ahead.having('a', 1)]).toEqual([0, []]);
  });

  test('take a bounded memory, whatever their offsets name', () => {
    const ahead = new Ahead();
    for (let client = 0; client < 1000; client++) ahead.add(`client-${client}`, forged, none);
    expect(ahead.size).toBeGreaterThan(49_000);
    expect(ahead.size).toBeLessThanOrEqual(50_000);
    const having = ahead.having('w0', 1);
    expect(having).toContain('client-999');
    expect(having).not.toContain('client-0');
  });
});
