import { expect, test } from '@jest/globals';
import { runTorture } from './support/run.js';

test('/readyz, the log, a metric and an alert name each fault within 15 s, and the documentation its remedy', async () => {
  const { code, result, output } = await runTorture('drill');
  if (code !== 0) throw new Error(output);
  // Five figures of each fault. The short form leaves out the worker that hangs.
  expect(result.figures.filter(({ value }) => typeof value === 'number')).toHaveLength(8 * 5);
}, 180_000);
