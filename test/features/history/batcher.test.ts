import { expect, test } from '@jest/globals';
import { Batcher } from '../../../src/features/history/batcher.js';

function recording(maxWeight: number) {
  const batches: string[][] = [];
  const batcher = new Batcher<string, string>({
    commit: async (entries) => {
      batches.push(entries.map(({ job }) => job));
      await new Promise((resolve) => setImmediate(resolve));
      for (const { job, resolve } of entries) resolve(job);
    },
    windowMs: 0,
    maxWeight,
    concurrency: 1,
  });
  return { batcher, batches };
}

test('clients take turns, each with its jobs in their order', async () => {
  const { batcher, batches } = recording(3);
  const jobs = ['m1', 'm2', 'm3', 'm4', 'a1', 'b1', 'a2'];
  await Promise.all(jobs.map((job) => batcher.add(job, 1, job[0])));
  expect(batches).toEqual([['m1', 'a1', 'b1'], ['m2', 'a2', 'm3'], ['m4']]);
  await batcher.idle();
});

test('a batch is closed by weight, and takes a job that alone weighs more', async () => {
  const { batcher, batches } = recording(10);
  await Promise.all([batcher.add('large', 50, 'm'), batcher.add('x', 9, 'a'), batcher.add('y', 9, 'b')]);
  expect(batches).toEqual([['large'], ['x', 'y']]);
});

test('what comes while a batch is in progress shares the next one, which begins with its end or after the window', async () => {
  const begun: string[][] = [];
  const ends: (() => void)[] = [];
  const batcher = new Batcher<string, string>({
    commit: (entries) => {
      begun.push(entries.map(({ job }) => job));
      return new Promise((resolve) => ends.push(resolve));
    },
    windowMs: 300_000,
    maxWeight: 10,
    concurrency: 2,
  });
  const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  const add = (job: string) => void batcher.add(job);
  add('a');
  await turn();
  add('b');
  await turn();
  add('c');
  await turn();
  expect(begun).toEqual([['a']]);
  ends[0]!();
  await turn();
  expect(begun).toEqual([['a'], ['b', 'c']]);
  ends[1]!();
});
