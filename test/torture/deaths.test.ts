import { expect, test } from '@jest/globals';
import { runTorture } from './support/run.js';

test('clients keep their sessions, and lose and repeat nothing, while workers die again and again', async () => {
  const { code, result, output } = await runTorture('deaths');
  if (code !== 0) throw new Error(output);
  for (const workers of [2, 3, 4]) {
    const figure = (name: string) => result.figures.find((one) => one.name === `${workers} workers: ${name}`)!;
    expect(figure('returns of clients').value).toBeGreaterThan(0);
    expect(figure('returns with a new session')).toMatchObject({ value: 0, most: 0 });
  }
}, 180_000);
