import { expect, test } from '@jest/globals';
import { runTorture } from './support/run.js';

test('readers that sleep are cut off before they take memory, and nobody else misses a message', async () => {
  const { code, result, output } = await runTorture('slow');
  if (code !== 0) throw new Error(output);
  const figure = (name: string) => result.figures.find((one) => one.name === name)!.value;
  expect(figure('sleeping readers disconnected')).toBe(figure('readers that sleep'));
}, 120_000);
