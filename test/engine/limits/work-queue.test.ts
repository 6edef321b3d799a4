import { EventEmitter } from 'node:events';
import { expect, test } from '@jest/globals';
import { MAX_WAITING, MAX_WAITING_PER_CLIENT, WorkQueue } from '../../../src/engine/limits/work-queue.js';

/** A read that ends when the test says so. */
function heldRead() {
  let end!: () => void;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let hasBegun!: () => void;
  const begun = new Promise<void>((resolve) => {
    hasBegun = resolve;
  });
  const read = () => {
    hasBegun();
    return ended;
  };
  return { begun, end, read };
}

test('one client has one read in progress, and eight waiting; more are refused', async () => {
  const queue = new WorkQueue('reads');
  const first = heldRead();
  const running = queue.run('mallory', first.read);
  await first.begun;
  let inProgress = 0;
  let most = 0;
  const read = async () => {
    inProgress++;
    most = Math.max(most, inProgress);
    await new Promise((resolve) => setImmediate(resolve));
    inProgress--;
  };
  const waiting = Array.from({ length: MAX_WAITING_PER_CLIENT }, () => queue.run('mallory', read));
  await expect((async () => queue.run('mallory', read))()).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  await queue.run('alice', async () => {});
  first.end();
  await Promise.all([running, ...waiting]);
  expect(most).toBe(1);
  await queue.run('mallory', read);
});

test('clients take turns, and a read that fails gives way', async () => {
  const queue = new WorkQueue('reads');
  const order: string[] = [];
  const blockers = Array.from({ length: 4 }, heldRead);
  const blocked = blockers.map(({ read }, index) => queue.run(`blocker ${index}`, read));
  await Promise.all(blockers.map(({ begun }) => begun));
  const note = (name: string) => async () => {
    order.push(name);
    if (name === 'a1') throw new Error('failed');
  };
  const reads = ['a1', 'a2', 'a3', 'b1', 'c1'].map((name) => queue.run(name[0]!, note(name)));
  blockers[0]!.end();
  const results = await Promise.allSettled(reads);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled', 'fulfilled']);
  expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'a3']);
  for (const { end } of blockers) end();
  await Promise.all(blocked);
});

test('what waits is bounded in all', async () => {
  const queue = new WorkQueue('reads');
  const held = heldRead();
  const reads = Array.from({ length: MAX_WAITING }, () => queue.run({}, held.read));
  expect(() => queue.run({}, held.read)).toThrow(expect.objectContaining({ code: 'OVERLOADED' }));
  held.end();
  await Promise.all(reads);
  await queue.run({}, async () => {});
});

test('work that throws at once rejects, and keeps no place', async () => {
  const queue = new WorkQueue('reads');
  for (let count = 0; count < 8; count++) {
    const failed = queue.run(`client ${count}`, () => {
      throw new Error('at once');
    });
    await expect(failed).rejects.toThrow('at once');
  }
  expect(await queue.run('alice', async () => 'read')).toBe('read');
});

test('a session that has not read its replies waits before its next request, and others do not', async () => {
  const queue = new WorkQueue('reads');
  const session = Object.assign(new EventEmitter(), { readyState: 'open', bufferedAmount: 0 });
  const order: string[] = [];
  const first = queue.run(session, async () => {
    session.bufferedAmount = 1_000_000;
    order.push('first');
  });
  const second = queue.run(session, async () => order.push('second'));
  await first;
  for (const name of ['alice', 'bob']) await queue.run(name, async () => order.push(name));
  // It still has too much to read.
  session.emit('drain');
  await queue.run('alice', async () => order.push('alice'));
  session.bufferedAmount = 0;
  session.emit('drain');
  await second;
  expect(order).toEqual(['first', 'alice', 'bob', 'alice', 'second']);
  expect(session.eventNames()).toEqual([]);
});
