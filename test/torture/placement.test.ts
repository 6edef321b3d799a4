import { expect, test } from '@jest/globals';
import { runTorture } from './support/run.js';

test('placed clients lose and repeat nothing, and are in their place again, whichever machine restarts or dies', async () => {
  const { code, result, output } = await runTorture('placement');
  if (code !== 0) throw new Error(output);
  expect(result.figures.filter(({ name }) => name.startsWith('in place'))).toHaveLength(4);
}, 180_000);
