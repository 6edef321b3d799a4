import { afterEach, expect, test } from '@jest/globals';
import type { Message } from '../../../src/state/replication/messages.js';
import { NO_EPOCH } from '../../../src/state/version.js';
import type { TestNode } from '../../rooms/support/node.js';
import { HubWorkers } from '../support/hub-workers.js';

const workers = new HubWorkers();
afterEach(() => workers.remove());

/** Has a worker answer as if it had closed its room after the first page. Resolves once it has. */
function closeAfterFirstPage({ io }: TestNode): Promise<void> {
  const nsp = io.of('/');
  const emit = nsp.serverSideEmit.bind(nsp);
  return new Promise((resolve) => {
    let pages = 0;
    nsp.serverSideEmit = (event: string, message: Message) => {
      if (message.type !== 'page' || ++pages === 1) return emit(event, message);
      nsp.serverSideEmit = emit;
      resolve();
      return emit(event, { ...message, epoch: NO_EPOCH, forgotten: 0, changes: [], next: undefined });
    };
  });
}

test('a room whose donor closes it between two pages is asked for again', async () => {
  const first = await workers.start();
  const value = 'x'.repeat(10_000);
  for (let key = 0; key < 60; key++) first.room.set(`${key}`, value);
  // What has been sent by now does not reach the worker that starts next.
  first.hub.flush();
  const closed = closeAfterFirstPage(first.node);
  const second = await workers.start();
  await closed;
  expect(second.room.size).toBe(60);
});
