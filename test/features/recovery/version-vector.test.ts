import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { VersionVector } from '../../../src/features/recovery/version-vector.js';

/** Few senders, so that vectors have some in common. */
const sender = fc.constantFrom('a', 'b', 'c-_9', 'toString', '__proto__');
const vectors = fc
  .uniqueArray(fc.tuple(sender, fc.nat({ max: 36 ** 9 })), { selector: ([name]) => name })
  .map((numbers) => new VersionVector(numbers));
const numbersOf = (vector: VersionVector) => [...vector].sort();

test('is the same after it has travelled', () => {
  fc.assert(fc.property(vectors, (one) => expect(numbersOf(VersionVector.parse(`${one}`))).toEqual(numbersOf(one))));
});

test('the union has what any of them has, and nothing else', () => {
  fc.assert(
    fc.property(vectors, vectors, sender, (one, other, name) => {
      const both = VersionVector.union(one, other);
      expect(both.of(name)).toBe(Math.max(one.of(name), other.of(name)));
      expect(both.knows(name)).toBe(one.knows(name) || other.knows(name));
      expect(numbersOf(VersionVector.union(other, one))).toEqual(numbersOf(both));
      expect(numbersOf(VersionVector.union(both, one))).toEqual(numbersOf(both));
    }),
  );
});

test('what is beyond another one, and that, are the union', () => {
  fc.assert(
    fc.property(vectors, vectors, (one, other) => {
      const beyond = one.beyond(other);
      expect(numbersOf(VersionVector.union(other, beyond).beyond(new VersionVector()))).toEqual(
        numbersOf(VersionVector.union(one, other).beyond(new VersionVector())),
      );
      for (const [name, number] of beyond) expect(number).toBeGreaterThan(other.of(name));
      expect(one.beyond(one).size).toBe(0);
    }),
  );
});

test('a number only rises, and its text with it', () => {
  fc.assert(
    fc.property(vectors, sender, fc.nat(), (vector, name, number) => {
      const before = vector.of(name);
      expect(`${vector}`).toBe(`${new VersionVector(vector)}`);
      vector.raise(name, number);
      expect(vector.of(name)).toBe(Math.max(before, number));
      expect(`${vector}`).toBe(`${new VersionVector(vector)}`);
      vector.forget(name);
      expect([vector.of(name), vector.knows(name)]).toEqual([0, false]);
      expect(`${vector}`).toBe(`${new VersionVector(vector)}`);
    }),
  );
});

test('malformed parts of a text are left out', () => {
  fc.assert(fc.property(fc.string(), (text) => void VersionVector.parse(text)));
  expect(numbersOf(VersionVector.parse('~a.1~b~.2~c.~d.-1~e.A~f.10~~x y.3'))).toEqual([
    ['a', 1],
    ['f', 36],
  ]);
  expect(VersionVector.parse(undefined).size).toBe(0);
});
