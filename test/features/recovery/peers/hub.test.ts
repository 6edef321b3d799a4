import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { HubThread } from '../../../../src/cluster/hub/hub-thread.js';
import { hubThread } from '../../../cluster/support/hub-thread.js';
import type { TestNode } from '../../../io/rooms/support/node.js';
import { temporaryFolder } from '../../../support/folder.js';
import { until, whileActing } from '../../../support/until.js';
import { joinMesh, ofTest, type Wanderer } from '../support/recovering.js';

let directory: string;
let thread: HubThread;
/** Those that accept links. */
let workers: number[];
const ends: string[] = [];
const { nodes, enter, start: startWorker } = ofTest();

beforeEach(async () => {
  directory = temporaryFolder();
  workers = [];
  thread = hubThread(directory, 'machine-', workers, { logged: ends });
  await thread.start();
});

afterEach(async () => {
  await thread.close(1000);
});

async function start(id: number): Promise<TestNode> {
  const others = nodes.map((_, at) => at + 1);
  const bus = await joinMesh(directory, id, others, {}, undefined, undefined, true);
  workers.push(id);
  return startWorker(bus);
}

const client = (at: TestNode) => enter(at, 10);

function expectEachOnce(one: Wanderer): void {
  for (const sender of ['worker 1', 'worker 2']) {
    const numbers = one.of(sender);
    expect(numbers).toEqual(numbers.map((_, at) => numbers[0]! + at));
  }
}

/** Both workers send to all clients until it is done. */
function underLoad(act: () => Promise<void>): Promise<void> {
  let sent = 0;
  const send = () => {
    sent++;
    for (const [at, { io }] of nodes.entries()) io.emit('n', `worker ${at + 1}`, sent);
  };
  return whileActing(5, send, act());
}

test('under load, the death of the hub costs clients that are away their sessions, and connected ones nothing', async () => {
  const [first, second] = [await start(1), await start(2)] as const;
  await underLoad(async () => {
    const [away, connected] = [await client(first), await client(first)];
    await away.cutOff();
    thread.end();
    await until(() => ends.length === 1);
    await until(() => thread.isReady);
    await away.comeBack(second.url);
    expect(away.recovered).toEqual([false]);
    // Another worker knows what the former keeper had once it has been there for a second.
    await connected.heardAll(connected.heard.length + 500);
    for (let time = 0; time < 2; time++) {
      await connected.cutOff();
      await connected.comeBack([second, first][time]!.url);
      await connected.heardAll(connected.heard.length + 10);
    }
    expect(connected.recovered).toEqual([true, true]);
    expectEachOnce(connected);
  });
  expect(ends).toHaveLength(1);
});

test('a hub that is to end serves its workers until they have ended, and is given the time', async () => {
  const from = ends.length;
  const [first, second] = [await start(1), await start(2)] as const;
  let closed: Promise<void> | undefined;
  let one: Wanderer | undefined;
  await underLoad(async () => {
    one = await client(first);
    closed = thread.close(60_000);
    // That takes more than a second.
    await one.heardAll(one.heard.length + 500);
  });
  await one!.cutOff();
  await one!.comeBack(second.url);
  expect(one!.recovered).toEqual([true]);
  for (const node of nodes.splice(0)) await node.close();
  await closed;
  expect(ends.length).toBe(from);
});
