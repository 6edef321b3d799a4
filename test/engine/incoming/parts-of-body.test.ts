import { expect, test } from '@jest/globals';
import { PartsOfBody } from '../../../src/engine/incoming/parts-of-body.js';

test('a body is the same in one part or many', () => {
  const parts = new PartsOfBody();
  const text = Array.from({ length: 3000 }, (_, index) => String(index)).join(' ');
  for (const word of text.split(/(?<= )/)) parts.add(Buffer.from(word));
  expect(parts.take().toString()).toBe(text);
  parts.add(Buffer.from('one'));
  expect(parts.take().toString()).toBe('one');
  expect(parts.take().length).toBe(0);
});

test('a body in parts of one byte takes twice its length in memory at most', () => {
  const parts = new PartsOfBody();
  for (let index = 0; index < 1_000_000; index++) parts.add(Buffer.of(index));
  expect(parts.size).toBeLessThan(2_100_000);
  expect(parts.take().length).toBe(1_000_000);
});

test('a part may be used again after it was added', () => {
  const parts = new PartsOfBody();
  const part = Buffer.from('abc');
  parts.add(part);
  part.fill('x');
  parts.add(part);
  expect(parts.take().toString()).toBe('abcxxx');
});
