import { expect, test } from '@jest/globals';
import { runTorture } from './support/run.js';

test('a Redis that loses messages holds back, repeats and disorders none of those that follow', async () => {
  const { code, result, output } = await runTorture('losses');
  if (code !== 0) throw new Error(output);
  const faults = result.figures.filter(({ times }) => times !== undefined);
  expect(faults).toHaveLength(17);
  for (const { times } of faults) expect(times).toBe(1);
}, 180_000);
