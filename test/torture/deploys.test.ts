import { expect, test } from '@jest/globals';
import { runTorture } from './support/run.js';

test('rolling reloads fail no request, and every client is sent away once', async () => {
  const { code, result, output } = await runTorture('deploys');
  if (code !== 0) throw new Error(output);
  for (const mode of ['off', 'on']) {
    const figure = (name: string) => result.figures.find((one) => one.name === `recovery ${mode}: ${name}`)!.value;
    expect(figure('faults')).toBe(2);
    expect(figure('reconnects per client and reload')).toBe(1);
    expect(figure('failed connection attempts')).toBe('none');
  }
}, 180_000);
