import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { Adapter } from 'socket.io-adapter';
import { failures } from '../../../src/base/owner.js';
import { createDurableRooms, RedisHistoryStore, SqliteHistoryStore } from '../../../src/features/history/index.js';
import type { AdapterWithServers } from '../../../src/io/rooms/index.js';
import { alone } from '../../../src/io/server/default-adapter.js';
import { disconnectAll, pairOn } from '../../io/rooms/support/clients.js';
import { Machine, startMember, startNode, type TestNode } from '../../io/rooms/support/node.js';
import { atEnd } from '../../support/ends.js';
import { temporaryFolder } from '../../support/folder.js';
import { RedisProcess } from '../../support/redis.js';
import { until } from '../../support/until.js';

const rooms = 'order:*';
const mayJoin = () => true;
let dataDir: string;
const ends: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  dataDir = temporaryFolder();
});

afterEach(async () => {
  disconnectAll();
  for (const end of ends.splice(0).reverse()) await end();
});

async function startAlone(): Promise<TestNode> {
  const node = await startNode(alone);
  ends.push(() => node.close());
  return node;
}

test('a room that is empty for a moment while it begins to be followed is followed', async () => {
  const { io, ...node } = await startAlone();
  const store = await SqliteHistoryStore.open({ dataDir });
  ends.push(() => store.close());
  const head = store.head.bind(store);
  const asked: (() => void)[] = [];
  store.head = async (name) => {
    await new Promise<void>((resolve) => asked.push(resolve));
    return head(name);
  };
  const durable = await createDurableRooms(io, { rooms, store });
  ends.push(() => durable.close());
  const { socket, received } = await pairOn({ io, ...node });
  await socket.join('order:1');
  await until(() => asked.length === 1);
  await socket.leave('order:1');
  // What happens each second.
  const { conversations } = durable as unknown as { conversations: { followed: { endIdle(): void } } };
  conversations.followed.endIdle();
  await socket.join('order:1');
  asked[0]!();
  await until(() => asked.length === 2);
  asked[1]!();
  await durable.to('order:1').emit('n', 1);
  await until(() => received.length === 1);
});

test('a message that a worker did not live to announce is read from the store', async () => {
  const machine = await Machine.start();
  ends.push(() => machine.remove());
  const members: Awaited<ReturnType<typeof startMember>>[] = [];
  for (let count = 0; count < 2; count++) members.push(await startMember(await machine.openBackplane()));
  ends.push(...members.map(({ close }) => close));
  for (const { io } of members) await until(async () => (await io.of('/').adapter.serverCount()) === 2);
  const [alive, dying] = members as [(typeof members)[0], (typeof members)[0]];
  const other = await createDurableRooms(alive.io, { rooms, dataDir });
  ends.push(() => other.close());
  const durable = await createDurableRooms(dying.io, { rooms, dataDir });
  ends.push(() => durable.close());
  const { socket, received } = await pairOn(alive);
  await socket.join('order:1');
  await durable.to('order:1').emit('n', 0);
  await until(() => received.length === 1);
  // From now on, the others do not hear from it.
  const { otherServers } = dying.io.of('/').adapter as Adapter & AdapterWithServers;
  otherServers.send = () => {};
  await durable.to('order:1').emit('n', 1);
  // Nothing waits for a time-out.
  dying.bus.close();
  await until(() => received.length === 2);
});

test('members get what was acknowledged just before the end, and requests have one listener after another start', async () => {
  const node = await startAlone();
  const durable = await createDurableRooms(node.io, { rooms, dataDir, mayJoin });
  const { client, socket, received } = await pairOn(node);
  expect(await client.emitWithAck('durable:join', 'order:1')).toMatchObject({ ok: true });
  await durable.to('order:1').emit('n', 1);
  await durable.close();
  socket.emit('fence');
  await until(() => received.some(([event]) => event === 'fence'));
  expect(received.map(([event]) => event)).toEqual(['n', 'fence']);
  expect(socket.listenerCount('durable:join')).toBe(0);
  const again = await createDurableRooms(node.io, { rooms, dataDir, mayJoin });
  ends.push(() => again.close());
  expect(socket.listenerCount('durable:join')).toBe(1);
  expect(await client.emitWithAck('durable:join', 'order:2')).toMatchObject({ ok: true, room: 'order:2' });
});

test('many failures make one warning for each kind of error, and later one with their number', async () => {
  const warnings = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
  // An earlier test may have had the same errors.
  let ahead = 10_000;
  const now = performance.now.bind(performance);
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
  atEnd(
    () => clock.mockRestore(),
    () => warnings.mockRestore(),
  );
  const node = await startAlone();
  const durable = await createDurableRooms(node.io, { rooms, dataDir, maxMessageBytes: 100 });
  ends.push(() => durable.close());
  const emit = () => node.io.to('order:1').emit('n', 'x'.repeat(100));
  for (let count = 0; count < 1000; count++) emit();
  await expect(durable.to('order:1').emit('n', 'x'.repeat(100))).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' });
  expect(warnings).toHaveBeenCalledTimes(1);
  ahead += 10_000;
  emit();
  await expect(durable.to('order:1').emit('n', 'x'.repeat(100))).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' });
  const more = '(999 more of this kind since the last warning)';
  expect(warnings.mock.calls).toEqual([[expect.anything()], [expect.stringContaining(more)]]);
});

/** What a warning says, and its code. */
const lineOf = ([message, options]: unknown[]) => [message, (options as { code?: string } | undefined)?.code, ''];

test.each(['onError', 'a warning'])(
  'a store that loses messages and goes down is told once each, by %s',
  async (way) => {
    const warnings = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const reported: unknown[] = [];
    const report = (failure: unknown) => reported.push(failure);
    failures.subscribe(report);
    atEnd(
      () => warnings.mockRestore(),
      () => failures.unsubscribe(report),
    );
    const redis = await RedisProcess.start();
    ends.push(() => redis.remove());
    const store = await RedisHistoryStore.open({ redis: redis.url, onError: () => {} });
    ends.push(() => store.close());
    const told: [message: string, code: string | undefined, room: string][] = [];
    const onError = (error: unknown, room: string) => {
      const { message, code } = error as NodeJS.ErrnoException;
      told.push([message, code, room]);
      throw new Error('of the application');
    };
    const node = await startAlone();
    const durable = await createDurableRooms(node.io, { rooms, store, ...(way === 'onError' && { onError }) });
    ends.push(() => durable.close());
    await durable.to('order:1').emit('n', 1);
    // Another worker that shares the store has found it.
    await store.lossNotices.write({ lostAt: Date.now(), acknowledgedAt: 0 });
    const listed = () => (way === 'onError' ? told : warnings.mock.calls.map(lineOf));
    await until(() => listed().length === 1);
    await redis.stop();
    for (let count = 0; count < 2; count++) {
      await expect(durable.to('order:1').emit('n', 1)).rejects.toMatchObject({ code: 'HISTORY_UNAVAILABLE' });
    }
    expect(listed()).toEqual([
      [expect.stringMatching(/^Redis has lost messages that it had confirmed \(noticed=.*\)$/), 'HISTORY_LOST', ''],
      ['Redis is unreachable: messages of durable rooms cannot be stored or read', 'REDIS_UNREACHABLE', ''],
    ]);
    if (way === 'onError') {
      expect(warnings).not.toHaveBeenCalled();
      expect(reported).toEqual(Array(2).fill(expect.objectContaining({ error: new Error('of the application') })));
    }
  },
);
