import { expect, test } from '@jest/globals';
import { runTorture } from './support/run.js';

test('clients that recover their session lose nothing in a rolling restart and as a machine dies, and follow the proxy', async () => {
  const { code, result, output } = await runTorture('placement');
  if (code !== 0) throw new Error(output);
  const figureOf = (start: string) => result.figures.find(({ name }) => name.startsWith(start))?.value;
  expect(['lost in a session', 'repeated', 'not connected at the end'].map(figureOf)).toEqual([0, 0, 0]);
  expect(figureOf('in place after the death of a machine')).toBeDefined();
}, 200_000);
