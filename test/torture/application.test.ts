import { expect, test } from '@jest/globals';
import { runTorture } from './support/run.js';

test('an application loses nothing between clients that stay connected while its workers die and are reloaded', async () => {
  const { code, result, output } = await runTorture('application');
  if (code !== 0) throw new Error(output);
  const figure = (name: string) => result.figures.find((one) => one.name === name)!.value;
  expect(figure('faults')).toBe(2);
}, 180_000);
