import { expect, test } from '@jest/globals';
import { randomIds } from '../../../src/engine/session/session-id.js';

test('ids have their prefix and 20 characters, and none comes twice', () => {
  const makers = [randomIds(''), randomIds('7.a$&b.')] as const;
  const ids = makers.map((next) => Array.from({ length: 600 }, next));
  expect(new Set(ids.flat()).size).toBe(1200);
  for (const id of ids[0]!) expect(id).toMatch(/^[\w-]{20}$/);
  for (const id of ids[1]!) expect(id).toMatch(/^7\.a\$&b\.[\w-]{20}$/);
});
