import { expect, test } from '@jest/globals';
import { runTorture } from './support/run.js';

test('rolling reloads fail no request, and every client is sent away once', async () => {
  const { code, result, output } = await runTorture('reload');
  if (code !== 0) throw new Error(output);
  const figure = (name: string) => result.figures.find((one) => one.name === name)!.value;
  expect(figure('reloads')).toBe(2);
  expect(figure('disconnects per client and reload')).toBe(1);
  expect(figure('failed connection attempts of clients')).toBe(0);
}, 180_000);
