import { expect, test } from '@jest/globals';
import { runTorture } from './support/run.js';

test('no fault loses, repeats or disorders an acknowledged message, and nothing is left behind', async () => {
  const { code, result, output } = await runTorture('faults');
  if (code !== 0) throw new Error(output);
  const { value: acked } = result.figures.find(({ name }) => name === 'one host: acknowledged messages')!;
  expect(acked).toBeGreaterThan(100);
  const times = result.figures.flatMap(({ name, times }) => (times === undefined ? [] : [[name, times]]));
  expect(times.length).toBeGreaterThanOrEqual(8);
  for (const [, count] of times) expect(count).toBe(1);
}, 180_000);
