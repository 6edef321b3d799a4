import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type DurableMessage, DurableRooms as Helper, type Recovery } from '../../../public/gjallar-client.js';
import { joinTexts } from '../../../src/base/names.js';
import type { Backplane } from '../../../src/cluster/backplanes/backplane.js';
import {
  createDurableRooms,
  type DurableRooms,
  type DurableRoomsOptions,
  RedisHistoryStore,
  SqliteHistoryStore,
} from '../../../src/features/history/index.js';
import { alone } from '../../../src/io/server/default-adapter.js';
import { disconnectAll, type Pair, pairOn } from '../../io/rooms/support/clients.js';
import { Machine, machinesOn, startMember, startNode, type TestNode } from '../../io/rooms/support/node.js';
import { nextEvent } from '../../support/clients.js';
import { atEnd } from '../../support/ends.js';
import { temporaryFolder } from '../../support/folder.js';
import { RedisProcess } from '../../support/redis.js';
import { until } from '../../support/until.js';

const mayJoin: DurableRoomsOptions['mayJoin'] = (_socket, room) => !room.endsWith('secret');

interface Fixture {
  openBackplane(): Promise<Backplane>;
  /** The option that says where messages are kept. */
  keeping(): Promise<Pick<DurableRoomsOptions, 'store' | 'dataDir'>>;
  remove(): Promise<void>;
}

interface Worker extends TestNode {
  durable: DurableRooms;
}

async function onRedisFrames(): Promise<Fixture> {
  const redis = await RedisProcess.start();
  const stores: RedisHistoryStore[] = [];
  const machines = await machinesOn('redis-frames', { server: 'redis', url: redis.url, prefix: 'socket.io' });
  return {
    openBackplane: machines.openBackplane,
    keeping: async () => {
      const store = await RedisHistoryStore.open({ redis: redis.url });
      stores.push(store);
      return { store };
    },
    remove: async () => {
      for (const store of stores) await store.close();
      await machines.remove();
      await redis.remove();
    },
  };
}

async function embedded(): Promise<Fixture> {
  const machine = await Machine.start();
  const dataDir = temporaryFolder();
  return {
    openBackplane: () => machine.openBackplane(),
    keeping: async () => ({ dataDir }),
    remove: () => machine.remove(),
  };
}

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** Follows a room with the helper. */
function follow({ client }: Pick<Pair, 'client'>, room: string, options: { last?: number; position?: never } = {}) {
  const heard: DurableMessage[] = [];
  const recoveries: Recovery[] = [];
  const helper = new Helper(client);
  const joined = helper.join(room, {
    ...options,
    onMessage: (message) => heard.push(message),
    onRecovered: (recovery) => recoveries.push(recovery),
  });
  return { helper, heard, recoveries, joined, values: () => heard.map(({ values }) => values[0]) };
}

describe.each([
  ['embedded and SQLite', embedded],
  ['redis-frames and Redis', onRedisFrames],
])('durable rooms on %s', (_name, start) => {
  let fixture: Fixture;
  let workers: Worker[];

  beforeAll(async () => {
    fixture = await start();
    workers = [];
    for (let count = 0; count < 3; count++) {
      const member = await startMember(await fixture.openBackplane());
      const durable = await createDurableRooms(member.io, { rooms: 'order:*', mayJoin, ...(await fixture.keeping()) });
      workers.push({ ...member, durable });
    }
    for (const { io } of workers) await until(async () => (await io.of('/').adapter.serverCount()) === 3);
  });

  afterEach(disconnectAll);

  afterAll(async () => {
    for (const worker of workers) {
      await worker.durable.close();
      await worker.close();
    }
    await fixture.remove();
  });

  test('all members get the messages of all workers in one order, with their positions', async () => {
    const pairs = await Promise.all(workers.map((worker) => pairOn(worker)));
    await Promise.all(pairs.map(({ socket }) => socket.join('order:all')));
    const kept = workers.flatMap(({ durable }, worker) =>
      numbers(1, 30).map((number) => durable.to('order:all').emit('n', worker, number)),
    );
    const positions = await Promise.all(kept);
    expect(positions.map(({ offset }) => offset).sort((a, b) => a - b)).toEqual(numbers(1, 90));
    await until(() => pairs.every(({ received }) => received.length === 90));
    const [first, ...others] = pairs;
    expect(first!.received.map((values) => (values[3] as { offset: number }).offset)).toEqual(numbers(1, 90));
    expect(first!.received[0]![3]).toEqual({ room: 'order:all', ...positions[0] });
    for (const { received } of others) expect(received).toEqual(first!.received);
  });

  test('a client gets what it missed once and in order, and from another worker', async () => {
    const [one, two] = workers as [Worker, Worker];
    const pair = await pairOn(one);
    const reader = follow(pair, 'order:7');
    await reader.joined;
    for (const number of numbers(1, 5)) await two.durable.to('order:7').emit('n', number);
    await until(() => reader.heard.length === 5);
    // The connection breaks, and messages go on.
    const lost = nextEvent(pair.client, 'disconnect');
    pair.client.io.engine.close();
    await lost;
    for (const number of numbers(6, 9)) await two.durable.to('order:7').emit('n', number);
    pair.client.connect();
    await until(() => reader.heard.length === 9);
    expect(reader.values()).toEqual(numbers(1, 9));
    expect(reader.heard[8]).toMatchObject({ room: 'order:7', event: 'n', offset: 9 });
    await until(() => reader.recoveries.length > 0);
    expect(reader.recoveries.at(-1)).toMatchObject({ complete: true, isFirst: false });
    // The page is loaded again, and reaches another worker.
    const position = (await reader.joined).position as never;
    pair.client.disconnect();
    await two.durable.to('order:7').emit('n', 10);
    const next = follow(await pairOn(two), 'order:7', { position });
    await next.joined;
    await workers[2]!.durable.to('order:7').emit('n', 11);
    await until(() => next.heard.length === 2);
    expect(next.values()).toEqual([10, 11]);
    const newcomer = follow(await pairOn(workers[2]!), 'order:7', { last: 3 });
    await newcomer.joined;
    expect(newcomer.values()).toEqual([9, 10, 11]);
  });

  test('what the application emits to a durable room is kept, and reaches those who have just joined', async () => {
    const [one, two] = workers as [Worker, Worker];
    const [first, second] = await Promise.all([pairOn(one), pairOn(two)]);
    await first.socket.join('order:plain');
    one.io.to('order:plain').emit('n', 1, { bytes: Buffer.of(1, 2, 3) });
    await until(() => first.received.length === 1);
    expect(first.received).toEqual([
      ['n', 1, { bytes: Buffer.of(1, 2, 3) }, { room: 'order:plain', offset: 1, tag: expect.any(Number) }],
    ]);
    await second.socket.join('order:plain');
    // The sender is excepted, also on the other worker.
    second.socket.to('order:plain').emit('n', 2);
    one.io.volatile.to('order:plain').emit('volatile');
    one.io.to(['order:plain', 'other']).emit('several');
    await until(
      () => first.received.some(([, value]) => value === 2) && second.received.some(([e]) => e === 'several'),
    );
    // It may get the one from just before it joined, and not its own.
    expect(second.received.filter(([event, value]) => event === 'n' && value === 2)).toEqual([]);
    const { messages, complete } = await two.durable.read('order:plain', { after: 0, limit: 10 });
    expect(messages.map(({ event, values }) => [event, ...values!])).toEqual([
      ['n', 1, { bytes: Buffer.of(1, 2, 3) }],
      ['n', 2],
    ]);
    expect(complete).toBe(true);
  });
});

describe('durable rooms of one worker', () => {
  const errors: unknown[] = [];
  let dataDir: string;
  let worker: Worker;

  beforeAll(async () => {
    dataDir = temporaryFolder();
    const node = await startNode(alone);
    const options = {
      rooms: ['order:*', 'news'],
      dataDir,
      mayJoin,
      maxRooms: 3,
      maxMessages: 20,
      maxMessageBytes: 1000,
    };
    const onError = (error: unknown) => errors.push(error);
    worker = { ...node, durable: await createDurableRooms(node.io, { ...options, onError }) };
  });
  afterEach(() => {
    errors.length = 0;
    disconnectAll();
  });
  afterAll(async () => {
    await worker.durable.close();
    await worker.close();
  });

  test('clients enter and read only what they may', async () => {
    const { client, socket } = await pairOn(worker);
    const ask = (event: string, ...values: unknown[]) => client.emitWithAck(event, ...values);
    const refused = (code: string) => ({ ok: false, code, message: expect.any(String) });
    expect(await ask('durable:join', 'order:secret')).toEqual(refused('ROOM_FORBIDDEN'));
    for (const room of ['other', 7, null, `order:${'x'.repeat(600)}`, 'order:\ud800']) {
      expect(await ask('durable:join', room)).toEqual(refused('BAD_ROOM'));
    }
    for (const query of [undefined, { room: 'news' }, { room: 'other' }, 'news']) {
      expect(await ask('durable:read', query)).toEqual(refused('NOT_IN_ROOM'));
    }
    expect(await ask('durable:join', 'news')).toEqual({ ok: true, room: 'news', offset: 0, tag: 0 });
    for (const bad of [{ after: -1 }, { limit: 0 }, { after: 'x' }, { tag: 'x' }, { before: 1.5 }]) {
      expect(await ask('durable:read', { room: 'news', ...bad })).toEqual(refused('BAD_PAGE'));
    }
    for (const room of ['order:1', 'order:2']) expect(await ask('durable:join', room)).toMatchObject({ ok: true });
    expect(await ask('durable:join', 'order:3')).toEqual(refused('TOO_MANY_ROOMS'));
    expect(await ask('durable:leave', 'order:2')).toEqual({ ok: true });
    expect(await ask('durable:join', 'order:3')).toMatchObject({ ok: true });
    await expect(new Helper(client).join('order:4')).rejects.toMatchObject({ code: 'TOO_MANY_ROOMS' });
    // The application may put a client where it may not enter by itself.
    await socket.join('order:secret');
    expect(await ask('durable:join', 'order:secret')).toMatchObject({ ok: true, room: 'order:secret' });
    expect(await ask('durable:join', 'news', 'more')).toEqual(refused('BAD_INPUT'));
    expect(await ask('durable:join')).toEqual(refused('BAD_ROOM'));
    client.emit('durable:join', 'news');
    expect(errors).toEqual([]);
  });

  test('a sender with the helper gets its own message without asking for it, and one without does not', async () => {
    const pair = await pairOn(worker);
    const reader = follow(pair, 'order:own');
    await reader.joined;
    const reads: unknown[] = [];
    pair.socket.on('durable:read', (query) => reads.push(query));
    pair.socket.to('order:own').emit('n', 1);
    await until(() => reader.heard.length === 1);
    expect(reader.values()).toEqual([1]);
    expect(reads).toEqual([]);
    const plain = await pairOn(worker);
    await plain.socket.join('order:own');
    plain.socket.to('order:own').emit('n', 2);
    await worker.durable.to('order:own').emit('n', 3);
    await until(() => plain.received.length > 0 && reader.heard.length === 3);
    expect(plain.received.map(([, value]) => value)).toEqual([3]);
    expect(reader.values()).toEqual([1, 2, 3]);
  });

  test('messages are bounded, and what is trimmed is told', async () => {
    const { durable, io } = worker;
    await expect(durable.to('order:1').emit('n', 'x'.repeat(1000))).rejects.toMatchObject({
      code: 'MESSAGE_TOO_LARGE',
    });
    await expect(durable.to('other').emit('n')).rejects.toMatchObject({ code: 'BAD_ROOM' });
    await expect(durable.to('order:1').emit('disconnect')).rejects.toMatchObject({ code: 'BAD_INPUT' });
    const [{ offset }, again] = [
      await durable.to('order:k', { key: 'one' }).emit('n', 1),
      await durable.to('order:k', { key: 'one' }).emit('n', 1),
    ];
    expect(again).toMatchObject({ offset, duplicate: true });
    for (const number of numbers(1, 30)) await durable.to('order:long').emit('n', number);
    const reader = follow(await pairOn(worker), 'order:long', { last: 30 });
    await reader.joined;
    expect(reader.values()).toEqual(numbers(11, 30));
    expect(reader.recoveries).toMatchObject([{ complete: false, missed: 20, isFirst: true }]);
    io.to('order:1').emit('n', 'x'.repeat(1000));
    io.to(['order:1', 'order:2']).emit('n');
    await until(() => errors.length === 2);
    expect(errors).toMatchObject([{ code: 'BAD_INPUT' }, { code: 'MESSAGE_TOO_LARGE' }]);
  });

  test('what other workers could not announce is read from the store', async () => {
    const { io } = worker;
    const reader = follow(await pairOn(worker), 'order:gap');
    await reader.joined;
    const other = await SqliteHistoryStore.open({ dataDir });
    const hear = (notice: unknown) => io.of('/')._onServerSideEmit(['gjallar:durable', notice]);
    atEnd(() => other.close());
    hear({ from: 'other', hello: 'new' });
    await other.append(`room:${joinTexts('/', 'order:gap')}`, [
      { from: 'event', text: '{"p":"2[\\"n\\",1]"}', at: 1e12 * 3 },
    ]);
    for (const malformed of [undefined, 7, { messages: [{}] }, { positions: 'x' }])
      hear({ from: 'other', message: malformed });
    for (const malformed of [undefined, 7, { from: 1, hello: 'met' }]) hear(malformed);
    hear({ from: 'other', hello: 'met' });
    await until(() => reader.heard.length === 1);
    expect(reader.values()).toEqual([1]);
  });

  test('many attachments arrive and are read, and what could not be read again is rejected', async () => {
    const { durable, io } = worker;
    const pair = await pairOn(worker);
    await pair.socket.join('order:bytes');
    const buffers = numbers(1, 10).map((number) => Buffer.of(number));
    // Every reader would reject one more, whenever it reads the room.
    const tooMany = [...buffers, Buffer.of(11)];
    await expect(durable.to('order:bytes').emit('files', ...tooMany)).rejects.toMatchObject({
      code: 'MESSAGE_TOO_LARGE',
      message: expect.stringContaining('ten attachments'),
    });
    io.to('order:bytes').emit('files', ...tooMany);
    await until(() => errors.length === 1);
    expect(errors.splice(0)).toMatchObject([{ code: 'MESSAGE_TOO_LARGE' }]);
    await durable.to('order:bytes').emit('files', ...buffers);
    await until(() => pair.received.length === 1);
    expect(pair.received[0]!.slice(1, -1)).toEqual(buffers);
    const { messages } = await pair.client.emitWithAck('durable:read', { room: 'order:bytes', after: 0 });
    expect(messages).toMatchObject([{ event: 'files', values: buffers }]);
    const fake = { _placeholder: true, num: 7 };
    await expect(durable.to('order:bytes').emit('files', fake, buffers[0])).rejects.toMatchObject({
      code: 'BAD_INPUT',
    });
    io.to('order:bytes').emit('files', fake, buffers[0]);
    await until(() => errors.length === 1);
    expect(errors).toMatchObject([{ code: 'BAD_INPUT' }]);
    // In a page, it would stand for the bytes of another message.
    await expect(durable.to('order:bytes').emit('plain', fake)).rejects.toMatchObject({ code: 'BAD_INPUT' });
    expect(await durable.to('order:bytes').emit('text', '"_placeholder":true')).toMatchObject({ offset: 2 });
  });

  test('clients read any number of messages with attachments, a few at a time', async () => {
    const bytes = numbers(1, 15).map((number) => Buffer.of(number));
    for (const one of bytes) await worker.durable.to('order:binary').emit('file', one);
    const pair = await pairOn(worker);
    const reader = follow(pair, 'order:binary', { last: 15 });
    await until(() => reader.heard.length === 15 || !pair.client.connected);
    expect(reader.values()).toEqual(bytes);
    const { messages } = await pair.client.emitWithAck('durable:read', { room: 'order:binary', limit: 15 });
    expect(messages.map(({ offset }: DurableMessage) => offset)).toEqual(numbers(6, 15));
  });

  test('a message that cannot be read hides only itself', async () => {
    const { durable } = worker;
    await durable.to('order:odd').emit('n', 1);
    const other = await SqliteHistoryStore.open({ dataDir });
    try {
      for (const text of ['{', '{"p":"51-[\\"n\\",{\\"_placeholder\\":true,\\"num\\":3}]","b":["AA=="]}']) {
        await other.append(`room:${joinTexts('/', 'order:odd')}`, [{ from: 'event', text, at: Date.now() }]);
      }
    } finally {
      await other.close();
    }
    await durable.to('order:odd').emit('n', 4);
    const reader = follow(await pairOn(worker), 'order:odd', { last: 10 });
    await reader.joined;
    await until(() => reader.heard.length === 2);
    expect(reader.values()).toEqual([1, 4]);
    const { messages } = await durable.read('order:odd', { after: 0, limit: 10 });
    expect(messages.map(({ deleted }) => deleted)).toEqual([undefined, true, true, undefined]);
  });

  test('namespaces do not share rooms, and options are checked', async () => {
    const { io } = worker;
    const other = await createDurableRooms(io.of('/other'), {
      rooms: 'order:*',
      store: await SqliteHistoryStore.open({ dataDir }),
    });
    await worker.durable.to('order:1').emit('n', 'main');
    expect((await other.read('order:1', { limit: 10 })).messages).toEqual([]);
    await other.close();
    await expect(createDurableRooms(io, { rooms: 'a', dataDir })).rejects.toMatchObject({ code: 'BAD_INPUT' });
    await expect(createDurableRooms(io.of('/x'), { rooms: 'a' })).rejects.toMatchObject({ code: 'BAD_INPUT' });
    await expect(createDurableRooms(io.of('/x'), { rooms: '**', dataDir })).rejects.toThrow('"**"');
    for (const [options, reason] of [
      [{ rooms: 'a', store: 'redis://:secret@localhost' }, /store .* must be a history store, such as .*, not a URL/],
      [{ rooms: 'a', store: SqliteHistoryStore.open({ dataDir }) }, /must be a history store/],
      [{ dataDir }, /rooms/],
      [{ rooms: 'a', dataDir, maxMessageBytes: '256 KB' }, /maxMessageBytes .* must be an integer from 1 \(bytes\)/],
    ] as const) {
      const opened = createDurableRooms(io.of('/x'), options as never);
      await expect(opened).rejects.toMatchObject({ code: 'BAD_INPUT', message: expect.stringMatching(reason) });
      if ('store' in options && typeof options.store === 'object') await (await options.store).close();
    }
  });
});

test('the client helper asks a server that cannot answer more and more seldom', async () => {
  const node = await startNode(alone);
  const position = (offset: number) => ({ room: 'news', offset, tag: offset });
  let reads = 0;
  node.io.on('connection', (socket) => {
    socket.on('durable:join', (_room, reply) => reply({ ok: true, ...position(0) }));
    socket.on('durable:read', (_query, reply) => {
      reads++;
      reply({ ok: false, code: 'INTERNAL', message: '' });
    });
  });
  atEnd(disconnectAll, () => node.close());
  const { client, socket } = await pairOn(node);
  const refusals: string[] = [];
  const helper = new Helper(client);
  await helper.join('news', { onMessage: () => {}, onRefused: ({ code }) => refusals.push(code) });
  socket.emit('n', 0, position(2));
  await until(() => refusals.length === 1);
  client.on('fence', (reply) => reply());
  for (const offset of numbers(3, 30)) {
    socket.emit('n', 0, position(offset));
    await socket.emitWithAck('fence');
  }
  expect(refusals[0]).toBe('INTERNAL');
  // Not one for each message.
  expect(reads).toBeLessThan(10);
  helper.close();
});
