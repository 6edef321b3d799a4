import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Message } from '../../../src/state/replication/messages.js';
import type { TestNode } from '../../rooms/support/node.js';
import { Reported } from '../../support/reports.js';
import { HubWorkers } from '../support/hub-workers.js';

const workers = new HubWorkers();
const unhandled: unknown[] = [];
const note = (error: unknown) => unhandled.push(error);
let reasons: string[];

beforeEach(() => {
  process.on('unhandledRejection', note);
  reasons = Reported.here().reasons;
});
afterEach(async () => {
  process.off('unhandledRejection', note);
  unhandled.length = 0;
  await workers.remove();
});

/** Has a worker send something else instead of its next page. */
function spoilNextPage({ io }: TestNode, fields: object): void {
  const nsp = io.of('/');
  const emit = nsp.serverSideEmit.bind(nsp);
  nsp.serverSideEmit = (event: string, message: Message) => {
    if (message.type !== 'page') return emit(event, message);
    nsp.serverSideEmit = emit;
    return emit(event, { ...message, ...fields });
  };
}

test.each([
  ['changes that are none', { changes: [1] }],
  ['a change without a time', { changes: [['a', 'now', 1, '1']] }],
  ['a next page that is no number', { next: 'more' }],
])(
  'a page with %s is dropped, and asked for again',
  async (_name, fields) => {
    const first = await workers.start();
    first.room.set('a', 1);
    spoilNextPage(first.node, fields);
    const second = await workers.start();
    expect(Object.fromEntries(second.room.entries())).toEqual({ a: 1 });
    expect(reasons.length).toBe(1);
    expect(unhandled).toEqual([]);
  },
  20_000,
);
