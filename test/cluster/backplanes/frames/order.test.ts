import { afterEach, expect, test } from '@jest/globals';
import { framesBackplane } from '../../../../src/cluster/backplanes/frames/open.js';
import { ownWindow, type SharedWindow } from '../../../../src/engine/delivery/shared-window.js';
import { disconnectAll, pairOn } from '../../../io/rooms/support/clients.js';
import { Machine, startMember, type TestNode } from '../../../io/rooms/support/node.js';
import { until } from '../../../support/until.js';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  disconnectAll();
  for (const close of closers.splice(0)) await close();
});

/** Two workers, each of whose bus shares the window of its outbox. */
async function startWorkers(flushMs: number): Promise<[TestNode, TestNode]> {
  const machine = await Machine.start();
  const nodes: TestNode[] = [];
  for (let index = 0; index < 2; index++) {
    const window: SharedWindow = {
      share: (flush) => {
        const early = ownWindow().share(flush);
        let hold: (() => void) | undefined;
        return () => {
          hold ??= nodes[index]?.engine.outbox.share(flush);
          (hold ?? early)();
        };
      },
    };
    const bus = await machine.openBackplane((node) => framesBackplane('embedded', { node, window }));
    nodes.push(await startMember(bus, { engine: { flushMs } }));
  }
  closers.push(async () => {
    for (const node of nodes) await node.close();
    await machine.remove();
  });
  return nodes as [TestNode, TestNode];
}

test.each([25, 0])(
  'a frame is written before the acknowledgement that follows it, with windows of %d ms',
  async (flushMs) => {
    const [one, two] = await startWorkers(flushMs);
    const [first, second] = [await pairOn(one), await pairOn(two)];
    await second.socket.join('room');
    first.socket.on('say', (done: () => void) => {
      one.io.to('room').emit('said');
      done();
    });
    const events: string[] = [];
    // All of it is read by one event loop, in the order in which it was written.
    two.io.of('/').adapter.on('broadcast', () => events.push('the frame arrives'));
    for (let round = 0; round < 10; round++) {
      await first.client.emitWithAck('say');
      events.push('the acknowledgement arrives');
      await until(() => second.received.length === round + 1);
    }
    expect(events).toEqual(Array(10).fill(['the frame arrives', 'the acknowledgement arrives']).flat());
  },
);
