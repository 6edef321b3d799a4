import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { Emitter as StockEmitter } from '@socket.io/redis-emitter';
import { Cluster, Redis } from 'ioredis';
import * as msgpack from 'socket.io-msgpack-parser';
import * as stockParser from 'socket.io-parser';
import { errorCodes } from '../../../src/base/errors.js';
import type { FrameAdapter } from '../../../src/cluster/backplanes/frames/adapter.js';
import { redisBackplane } from '../../../src/cluster/backplanes/redis/classic.js';
import { Emitter } from '../../../src/cluster/emitter/index.js';
import type { Broadcast } from '../../../src/cluster/wire/broadcast.js';
import { blockOf } from '../../guide/support/blocks.js';
import { disconnectAll, pairOn } from '../../io/rooms/support/clients.js';
import { machinesOn, onRedisFrames, startMember } from '../../io/rooms/support/node.js';
import { startStock } from '../../io/rooms/support/stock.js';
import { expectedOf, forValues, outcomesOn } from '../../io/rooms/support/values.js';
import { nextEvent } from '../../support/clients.js';
import { atEnd } from '../../support/ends.js';
import { RedisProcess } from '../../support/redis.js';
import { until } from '../../support/until.js';
import { Wire } from '../../support/wire.js';
import { emitterContract, GARBAGE } from './emitter.contract.js';

emitterContract('redis-frames', async () => {
  const redis = await RedisProcess.start();
  const client = new Redis(redis.url);
  const machines = await machinesOn('redis-frames', { server: 'redis', url: redis.url, prefix: 'socket.io' });
  return {
    openBackplane: machines.openBackplane,
    emitter: new Emitter(client),
    sendGarbage: async () => {
      for (const bytes of GARBAGE) await client.publish('socket.io:frames', bytes);
      // The hub drops the other two.
      return GARBAGE.length - 2;
    },
    remove: async () => {
      client.disconnect();
      await machines.remove();
      await redis.remove();
    },
  };
});

test('what is for the id of a socket reaches its worker, and workers with a room of that name', async () => {
  const client = new Redis(redis.url);
  const machines = await machinesOn('redis-frames', { server: 'redis', url: redis.url, prefix: 'ids' });
  const members: Awaited<ReturnType<typeof startMember>>[] = [];
  atEnd(async () => {
    disconnectAll();
    client.disconnect();
    for (const member of members) await member.close();
    await machines.remove();
  });
  for (let count = 0; count < 4; count++) members.push(await startMember(await machines.openBackplane()));
  const pairs = await Promise.all(members.map((member) => pairOn(member)));
  const emitter = new Emitter(client, { key: 'ids' });
  const arrivals = members.map(({ io }) => jest.spyOn(io.of('/').adapter as FrameAdapter, 'receiveBroadcast'));
  let emitted = 0;
  /** How often each worker gets what is emitted to a room. One that enters it within 1 ms may get it, too. */
  const counts = async (room: string) => {
    const name = `direct ${++emitted}`;
    const ends = pairs.map((pair) => nextEvent(pair.client, 'end'));
    emitter.to(room).emit(name);
    emitter.emit('end');
    await Promise.all(ends);
    const isIt = ([{ encoded }]: [Broadcast]) => JSON.stringify(encoded).includes(name);
    return arrivals.map(({ mock }) => mock.calls.filter(isIt).length);
  };
  const { id } = pairs[3]!.socket;
  expect(await counts(id)).toEqual([0, 0, 0, 1]);
  await pairs[0]!.socket.join(id);
  expect(await counts(id)).toEqual([1, 0, 0, 1]);
  // Recovery needs to know of a message that a client may miss whose worker has ended.
  expect(await counts(`9999.${id.split('.').slice(1).join('.')}`)).toEqual([1, 1, 1, 1]);
  expect(await counts('any room')).toEqual([1, 1, 1, 1]);
  const got = (name: string) => pairs.map(({ received }) => received.filter(([event]) => event === name).length);
  expect([got('direct 1')[3], ...got('direct 2')]).toEqual([1, 1, 0, 0, 1]);
});

test('an emitter rejects a client of a Redis Cluster, which would change the order of messages', () => {
  const client = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
  expect(() => new Emitter(client)).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }));
  client.disconnect();
});

// The emitter that ours stands in for, on the bus that it needs, does all the same.
emitterContract('redis, of @socket.io/redis-emitter', async () => {
  const redis = await RedisProcess.start();
  const client = new Redis(redis.url);
  return {
    openBackplane: async () => redisBackplane(redis.url),
    emitter: new StockEmitter(client) as never,
    remove: async () => {
      client.disconnect();
      await redis.remove();
    },
  };
});

let redis: RedisProcess;

beforeAll(async () => {
  redis = await RedisProcess.start();
});
afterAll(() => redis.remove());

test('the process of docs/guide/emitter.md needs nothing but the connection', async () => {
  const lonely = await RedisProcess.start();
  const member = await startMember(onRedisFrames(redis.url));
  atEnd(
    disconnectAll,
    () => member.close(),
    () => lonely.remove(),
  );
  const { client, socket } = await pairOn(member);
  await socket.join('reports');
  const event = nextEvent(client, 'report');
  const run = async (env: NodeJS.ProcessEnv) => {
    const script = blockOf('docs/guide/emitter.md', 'import');
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...env },
    });
    const [output, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    return [code, output];
  };
  expect(await run({ REDIS_URL: redis.url })).toEqual([0, '']);
  expect(await event).toEqual([{ ready: true }]);
  expect(await run({ REDIS_URL: lonely.url })).toEqual([0, 'no server listens on this Redis\n']);
});

test('flush says that no server listens, or what is lost', async () => {
  const errors: unknown[] = [];
  const client = new Redis(redis.url, { retryStrategy: () => null, maxRetriesPerRequest: 0 });
  client.on('error', () => {});
  const emitter = new Emitter(client, { key: 'nobody', onError: (error) => errors.push(error) });
  expect(await emitter.flush()).toEqual({ subscribers: undefined });
  emitter.to('room').emit('n');
  expect(await emitter.flush()).toEqual({ subscribers: 0 });
  client.disconnect();
  await nextEvent(client, 'end');
  emitter.emit('n');
  emitter.of('/other').emit('n');
  await expect(emitter.flush()).rejects.toMatchObject({
    code: 'EMIT_FAILED',
    status: errorCodes.EMIT_FAILED.status,
    message: expect.stringMatching(/^2 messages of an emitter are lost: .+ Check the connection/),
  });
  expect(errors).toHaveLength(1);
  expect(await emitter.flush()).toEqual({ subscribers: undefined });
  expect(() => new Emitter({} as never)).toThrow('needs a connection');
});

test('a message whose answer is lost is not sent again, and flush says so', async () => {
  const wire = await Wire.to(redis.port);
  const options = { autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0, retryStrategy: () => 20 };
  const client = new Redis(wire.port, '127.0.0.1', options);
  client.on('error', () => {});
  const member = await startMember(onRedisFrames(redis.url));
  atEnd(
    disconnectAll,
    () => client.disconnect(),
    () => wire.close(),
    () => member.close(),
  );
  const pair = await pairOn(member);
  if (client.status !== 'ready') await nextEvent(client, 'ready');
  const emitter = new Emitter(client, { onError: () => {} });
  const ready = nextEvent(client, 'ready');
  wire.holdAnswers();
  emitter.emit('n', 1);
  await until(() => pair.received.length === 1);
  wire.cut();
  wire.mend();
  await expect(emitter.flush()).rejects.toMatchObject({ code: 'EMIT_FAILED' });
  await ready;
  const ended = nextEvent(pair.client, 'end');
  emitter.emit('end');
  expect(await emitter.flush()).toEqual({ subscribers: 1 });
  await ended;
  expect(pair.received).toEqual([['n', 1], ['end']]);
});

test('a client that sends commands again is warned of', () => {
  const warnings = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
  const lazy = { lazyConnect: true };
  const clients = [
    new Redis({ ...lazy, autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 }),
    new Redis(lazy),
  ];
  atEnd(async () => {
    warnings.mockRestore();
    for (const client of clients) client.disconnect();
  });
  for (const client of clients.slice(0, 1)) new Emitter(client);
  expect(warnings).not.toHaveBeenCalled();
  for (const client of clients.slice(1)) new Emitter(client);
  expect(warnings).toHaveBeenCalledTimes(1);
  expect(warnings.mock.calls[0]![0]).toMatch('autoResendUnfulfilledCommands: false');
});

test('what would end clients or call handlers of connections is rejected', async () => {
  const client = new Redis(redis.url);
  const member = await startMember(onRedisFrames(redis.url));
  atEnd(
    disconnectAll,
    () => client.disconnect(),
    () => member.close(),
  );
  const pair = await pairOn(member);
  const emitter = new Emitter(client);
  const rejected = expect.objectContaining({ code: 'BAD_INPUT' });
  for (const event of [undefined, null, {}, 'disconnect', 'connect_error']) {
    expect(() => emitter.emit(event as never)).toThrow(rejected);
    expect(() => emitter.to('room').emit(event as never, 1)).toThrow(rejected);
  }
  for (const event of [undefined, 'connect', 'connection', 'new_namespace']) {
    expect(() => emitter.serverSideEmit(event as never, {})).toThrow(rejected);
  }
  expect(() => emitter.emit('n', 1, () => {})).toThrow(rejected);
  expect(() => emitter.to(pair.socket.id).emit('n', () => {})).toThrow(rejected);
  expect(await emitter.flush()).toEqual({ subscribers: undefined });
  const ended = nextEvent(pair.client, 'end');
  emitter.emit('end');
  await ended;
  expect(pair.received).toEqual([['end']]);
});

test('rooms may be numbers, and servers may have a parser of their own', async () => {
  const client = new Redis(redis.url);
  const member = await startMember(onRedisFrames(redis.url), { server: { parser: msgpack } });
  atEnd(
    disconnectAll,
    () => client.disconnect(),
    () => member.close(),
  );
  const pair = await pairOn(member, { parser: msgpack });
  await pair.socket.join(7 as never);
  const emitter = new Emitter(client, { parser: msgpack as never });
  const ended = nextEvent(pair.client, 'end');
  emitter.to(7).emit('seven', [7]);
  emitter.to('7').emit('text');
  emitter.emit('end', new Date(0).getTime());
  await ended;
  expect(pair.received).toEqual([
    ['seven', [7]],
    ['end', 0],
  ]);
});

test('any value reaches clients of all machines as stock sends it, from an emitter and from a server', async () => {
  const client = new Redis(redis.url);
  const stock = await startStock();
  const members = [await startMember(onRedisFrames(redis.url)), await startMember(onRedisFrames(redis.url))];
  atEnd(async () => {
    disconnectAll();
    client.disconnect();
    for (const member of members) await member.close();
    await stock.close();
  });
  for (const { io } of members) await until(async () => (await io.of('/').adapter.serverCount()) === 2);
  const pairs = await Promise.all([0, 1, 1, 1].map((at) => pairOn(members[at]!)));
  await Promise.all(pairs.map(({ socket }) => socket.join('room')));
  const receivers = pairs.map((pair) => pair.client);
  const emitters = [new Emitter(client), new Emitter(client, { parser: stockParser })];
  await forValues(stock, async (values, onStock) => {
    for (const sender of [...emitters, members[0]!.io]) {
      for (const outcomes of await outcomesOn({ target: sender.to('room'), receivers }, values)) {
        expect(outcomes).toEqual(expectedOf(onStock));
      }
    }
  });
});
