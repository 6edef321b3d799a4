import { expect, test } from '@jest/globals';
import { runTorture } from './support/run.js';

test('releases that die after they listen replace no worker, and clients lose and repeat nothing', async () => {
  const { code, result, output } = await runTorture('releases');
  if (code !== 0) throw new Error(output);
  const figure = (name: string) => result.figures.find((one) => one.name === name)!.value;
  expect(figure('kinds of faults')).toBe('4 × bad release, 1 × reloaded');
  expect(figure('bad releases that replaced a worker, or were not reported')).toBe(0);
  expect(figure('clients that a bad release disconnected')).toBe(0);
}, 180_000);
