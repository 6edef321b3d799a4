import { expect, test } from '@jest/globals';
import type { Adapter } from 'socket.io-adapter';
import { startMember } from '../../io/rooms/support/node.js';
import { connect, nextEvent } from '../../support/clients.js';
import { atEnd } from '../../support/ends.js';
import { RedisProcess } from '../../support/redis.js';
import { until } from '../../support/until.js';
import { joinRedis } from './support/recovering.js';

const NAME = '/room-5';

/** Resolves when the adapter of a namespace has closed. */
const closed = (adapter: Adapter) =>
  new Promise<void>((resolve) => {
    const { close } = adapter;
    adapter.close = async () => {
      await close.call(adapter);
      resolve();
    };
  });

test.each(['redis-frames', 'redis'] as const)(
  'on %s, a namespace that is made again while the one of before closes hears the other workers',
  async (bus) => {
    const redis = await RedisProcess.start();
    atEnd(() => redis.remove());
    const start = async () => {
      const node = await startMember(await joinRedis(redis.url, {}, bus), {
        server: { connectionStateRecovery: {}, cleanupEmptyChildNamespaces: true },
      });
      atEnd(() => node.close());
      node.io.of(/^\/room-\d+$/);
      return node;
    };
    const [here, there] = [await start(), await start()];
    const enter = ({ url }: typeof here) => {
      const room = connect(url + NAME, { transports: ['websocket'], reconnection: false });
      atEnd(() => room.disconnect());
      return nextEvent(room, 'connect').then(() => room);
    };
    const allMeet = () => until(async () => (await there.io.of(NAME).adapter.serverCount()) === 2);

    await enter(there);
    await enter(here);
    await allMeet();

    const before = here.io.of(NAME);
    const ended = closed(before.adapter);
    before.local.disconnectSockets();
    expect(here.io.of(NAME)).not.toBe(before);
    await ended;
    const room = await enter(here);
    await allMeet();
    const heard = nextEvent<[number]>(room, 'n');
    there.io.of(NAME).emit('n', 1);
    expect((await heard)[0]).toBe(1);
    expect(await there.io.of(NAME).fetchSockets()).toHaveLength(2);
  },
);
