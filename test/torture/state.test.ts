import { expect, test } from '@jest/globals';
import { runTorture } from './support/run.js';

test.concurrent('state rooms show the same everywhere, and nothing goes back, whatever clients and workers do', async () => {
  const { code, result, output } = await runTorture('state');
  if (code !== 0) throw new Error(output);
  const figure = (name: string) => result.figures.find((one) => one.name === name)!.value;
  for (const name of ['workers killed', 'clients that paused', 'returns of clients', 'snapshots']) {
    expect(figure(name)).toBeGreaterThan(0);
  }
}, 180_000);

test.concurrent('the same with a store that fails now and then, and with all workers ending and starting again', async () => {
  const { code, result, output } = await runTorture('state', '--store');
  if (code !== 0) throw new Error(output);
  const figure = (name: string) => result.figures.find((one) => one.name === name)!.value;
  for (const name of ['faults of the store', 'stops of all workers', 'snapshots']) {
    expect(figure(name)).toBeGreaterThan(0);
  }
}, 180_000);
