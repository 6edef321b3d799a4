import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Emitter as StockEmitter } from '@socket.io/redis-emitter';
import { Redis } from 'ioredis';
import { Emitter } from '../../../../src/cluster/emitter/index.js';
import type { TestNode } from '../../../io/rooms/support/node.js';
import { temporaryFolder } from '../../../support/folder.js';
import { RedisProcess } from '../../../support/redis.js';
import { until } from '../../../support/until.js';
import { Wire } from '../../../support/wire.js';
import { joinMachine, ofTest, type Wanderer } from '../support/recovering.js';

let redis: RedisProcess;
let publisher: Redis;
let directory: string;
const wires: Wire[] = [];
const { enter, start: startWorker } = ofTest();

beforeEach(async () => {
  directory = temporaryFolder();
  redis = await RedisProcess.start();
  publisher = new Redis(redis.url);
});

afterEach(async () => {
  for (const wire of wires.splice(0)) wire.close();
  publisher.disconnect();
  await redis.remove();
});

interface Place {
  /** Where it reaches the server of the bus. */
  port?: number;
  /** The machine, if it is not that of the others. */
  machine?: string;
}

type Bus = 'redis' | 'redis-frames';

async function start(bus: Bus, id: number, { port, machine }: Place = {}): Promise<TestNode> {
  const others = Array.from({ length: id - 1 }, (_, at) => at + 1);
  const server = `127.0.0.1:${port ?? redis.port}`;
  const choice = { bus, redisUrl: `redis://${server}` };
  const folder = machine === undefined ? directory : mkdtempSync(join(directory, machine));
  const backplane = await joinMachine({ ...choice, machine }, folder, id, others);
  const node = await startWorker(backplane);
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
  const one = await enter(at);
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
    emitterOn(bus).to('room').emit('n', 'emitter', 1);
    await until(() => witness.of('emitter').length === 1);
    const second = await start(bus, 2);
    for (const each of [one, other]) await each.comeBack(second.url);
    expect([one.recovered, other.recovered]).toEqual([[false], [true]]);
  },
);

function emitterOn(bus: Bus) {
  return bus === 'redis' ? new StockEmitter(publisher) : new Emitter(publisher);
}

/** A worker that gets nothing from its bus any more, and a client that has just left it. Another machine has a witness. */
async function startLate(bus: Bus) {
  const wire = await Wire.to(redis.port);
  wires.push(wire);
  const first = await start(bus, 1, { port: wire.port });
  const far = await start(bus, 1, { machine: 'faraway-' });
  const [witness, one] = [await client(far, 'room'), await client(first, 'room')];
  await one.cutOff();
  await until(() => first.io.of('/').sockets.size === 0);
  wire.holdAnswers();
  return { wire, far, witness, one };
}

test.each(['redis', 'redis-frames'] as const)(
  'the same if its machine has not received the message of the emitter on %s yet',
  async (bus) => {
    const { wire, witness, one } = await startLate(bus);
    emitterOn(bus).to('room').emit('n', 'emitter', 1);
    await until(() => witness.of('emitter').length === 1);
    const second = await start(bus, 2);
    wire.release();
    await one.comeBack(second.url);
    expect(one.recovered).toEqual([false]);
  },
);
