import { expect, test } from '@jest/globals';
import { runTorture } from './support/run.js';

test('readers that sleep are kept from taking memory, every message they miss is counted, and nobody else misses one', async () => {
  const { code, result, output } = await runTorture('slow');
  if (code !== 0) throw new Error(output);
  const dropped = result.figures.find(({ name }) => name === 'messages dropped')!;
  expect(dropped.value).toBeGreaterThan(0);
}, 120_000);
