import { expect, test } from '@jest/globals';
import { runTorture } from './support/run.js';

test('the clients of an application lose nothing in a reload when it uses recovery, and return once', async () => {
  const { code, result, output } = await runTorture('deploys', '--recovery', 'on', '--times', '1');
  if (code !== 0) throw new Error(output);
  const figures = new Map(result.figures.map(({ name, value }) => [name.replace('recovery on: ', ''), value]));
  expect(figures.get('reloads')).toBe(1);
  expect(figures.get('reconnects per client and reload')).toBe(1);
  expect(figures.get('reconnects with the same session')).toBe(figures.get('clients'));
  expect(figures.get('missed by clients that got a new session')).toBe(0);
}, 180_000);
