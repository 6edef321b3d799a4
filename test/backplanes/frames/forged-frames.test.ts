import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Backplane } from '../../../src/backplanes/backplane.js';
import { MachineFrameWriter, openFrame } from '../../../src/backplanes/frames/machines/machine-frame.js';
import { messageOf, types } from '../../../src/backplanes/frames/wire/message.js';
import { disconnectAll, type Pair, pairOn, receivedBy } from '../../rooms/support/clients.js';
import { onRedisFrames, startMember, type TestNode } from '../../rooms/support/node.js';
import { RedisProcess } from '../../support/redis.js';

type Member = TestNode & { bus: Backplane };

const MACHINES = ['machine0', 'machine1'] as const;

describe('two machines on one Redis that another program publishes on', () => {
  let redis: RedisProcess;
  let stranger: Redis;
  let members: Member[];
  let pairs: Pair[];
  /** What the first machine reports. */
  const gaps: string[][] = [];

  beforeAll(async () => {
    redis = await RedisProcess.start();
    stranger = new Redis(redis.url);
    const events = [
      {
        onGap: (worker: string, reason: string) => void gaps.push([worker, reason]),
      },
      {},
    ];
    members = [];
    for (const [index, machine] of MACHINES.entries()) {
      const all = { onDown: () => {}, onUp: () => {}, ...events[index] };
      members.push(await startMember(onRedisFrames(redis.url, all, 'socket.io', machine)));
    }
    pairs = await Promise.all(members.map((member) => pairOn(member)));
  });

  afterAll(async () => {
    disconnectAll();
    for (const member of members) await member.close();
    stranger.disconnect();
    await redis.remove();
  });

  /** Messages in both directions, and what of them has arrived. */
  async function exchanged(count: number): Promise<unknown[]> {
    for (const { received } of pairs) received.length = 0;
    for (let number = 0; number < count; number++) for (const { io } of members) io.emit('said', number);
    await receivedBy(pairs, members);
    return pairs.map(({ received }) => received.filter(([event]) => event === 'said').length);
  }

  function forged(number: number): Buffer {
    const writer = new MachineFrameWriter('1.machine1');
    writer.add(1, messageOf(types.removed, Buffer.alloc(0)));
    const { frame } = writer.take();
    frame.writeUIntLE(number, 2 + '1.machine1'.length, 6);
    return openFrame(frame).bytes;
  }

  test.each([2 ** 48 - 1, 1_000_000])(
    'nothing is lost after a frame with the forged number %d, which is reported',
    async (number) => {
      expect(await exchanged(20)).toEqual([40, 40]);
      const before = gaps.length;
      await stranger.publish('socket.io:frames:machine0', forged(number));
      expect(await exchanged(20)).toEqual([40, 40]);
      expect(gaps.slice(before)).toContainEqual([
        '1.machine1',
        'the frames of a worker do not continue where they were',
      ]);
      expect(members[0]!.bus.traffic.gaps).toBe(gaps.length);
    },
  );

  test('the hellos of a worker that is known are answered at most once a second', async () => {
    const repeated = () => stranger.publish('socket.io:frames', 'hello 1.machine1');
    const answered = async () => {
      const stats = String(await stranger.info('commandstats'));
      return Number(/cmdstat_publish:calls=(\d+)/.exec(stats)![1]);
    };
    const before = await answered();
    const said = 5000;
    for (let count = 0; count < said; count++) void repeated();
    expect(await exchanged(1)).toEqual([2, 2]);
    expect((await answered()) - before - said).toBeLessThan(200);
  });
});
