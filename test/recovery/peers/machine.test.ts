import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Emitter as StockEmitter } from '@socket.io/redis-emitter';
import { Redis } from 'ioredis';
import { Emitter } from '../../../src/emitter/index.js';
import { startMember, type TestNode } from '../../rooms/support/node.js';
import { RedisProcess } from '../../support/redis.js';
import { until } from '../../support/until.js';
import { joinMachine, Wanderer } from '../support/recovering.js';

let redis: RedisProcess;
let publisher: Redis;
let directory: string;
const nodes: TestNode[] = [];
const clients: Wanderer[] = [];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'gjallar-recovery-'));
  redis = await RedisProcess.start();
  publisher = new Redis(redis.url);
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  for (const node of nodes.splice(0)) await node.close();
  publisher.disconnect();
  await redis.remove();
  rmSync(directory, { recursive: true, force: true });
});

async function start(bus: 'redis' | 'redis-frames', id: number): Promise<TestNode> {
  const others = Array.from({ length: id - 1 }, (_, at) => at + 1);
  const backplane = await joinMachine({ bus, redisUrl: redis.url }, directory, id, others);
  const node = await startMember(backplane, { server: { connectionStateRecovery: {} } });
  nodes.push(node);
  node.io.on('connection', (socket) => {
    socket.on('join', async (room: string, done: () => void) => {
      await socket.join(room);
      done();
    });
    if (!socket.recovered) socket.emit('n', 'hello', 0);
  });
  return node;
}

async function client(at: TestNode, room: string): Promise<Wanderer> {
  const one = new Wanderer(at.url, 'websocket');
  clients.push(one);
  await one.heardAll(1);
  await one.socket.emitWithAck('join', room);
  return one;
}

test.each(['redis', 'redis-frames'] as const)(
  'a worker of a machine that starts after a message of an emitter on %s recovers only clients that do not lack it',
  async (bus) => {
    const first = await start(bus, 1);
    const [witness, one, other] = [
      await client(first, 'room'),
      await client(first, 'room'),
      await client(first, 'elsewhere'),
    ];
    for (const each of [one, other]) await each.cutOff();
    await until(() => first.io.of('/').sockets.size === 1);
    const emitter = bus === 'redis' ? new StockEmitter(publisher) : new Emitter(publisher);
    emitter.to('room').emit('n', 'emitter', 1);
    await until(() => witness.of('emitter').length === 1);
    const second = await start(bus, 2);
    for (const each of [one, other]) await each.comeBack(second.url);
    expect([one.recovered, other.recovered]).toEqual([[false], [true]]);
  },
);
