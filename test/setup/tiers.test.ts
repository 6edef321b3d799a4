import { existsSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { PROGRAMS } from './programs.mjs';
import { packagesFor, testsByTier } from './tiers.mjs';

const tiers = testsByTier();

test('each test file is in one tier, by what it imports', () => {
  const all = Object.values(tiers).flat();
  expect(new Set(all).size).toBe(all.length);
  expect(tiers).toMatchObject({
    unit: expect.arrayContaining(['test/setup/tiers.test.ts', 'test/io/rooms/room-sets.test.ts']),
    process: expect.arrayContaining(['test/cluster/cluster.test.ts']),
    long: expect.arrayContaining(['test/cluster/lifecycle.test.ts']),
    system: expect.arrayContaining(['test/cluster/emitter/emitter.test.ts', 'test/page/page.test.ts']),
  });
});

test('each program is needed by files that exist and by at least one test', () => {
  const needed = new Set(tiers.system!.flatMap((test) => packagesFor(test)));
  for (const { package: name, usedBy } of PROGRAMS) {
    for (const file of usedBy) expect([file, existsSync(new URL(`../${file}`, import.meta.url))]).toEqual([file, true]);
    expect(needed).toContain(name);
  }
});
