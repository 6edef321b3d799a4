import { randomInt } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { runTorture } from '../torture/support/run.js';

test('thousands of bad inputs get the right answers, and disturb no other client', async () => {
  const { code, result, output } = await runTorture('fuzz', '--seed', `${randomInt(1e9)}`);
  // The output has the seed, and what was found.
  expect(code === 0 ? '' : output).toBe('');
  const figure = (name: string) => result.figures.find((one) => one.name === name)?.value;
  expect(figure('inputs')).toBeGreaterThan(3_900);
  expect(figure('messages of other clients')).toBeGreaterThan(20);
}, 120_000);
