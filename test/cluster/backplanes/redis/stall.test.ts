import { expect, test } from '@jest/globals';
import { openRedis } from '../../../../src/cluster/backplanes/redis/connection.js';
import { nextEvent } from '../../../support/clients.js';
import { atEnd } from '../../../support/ends.js';
import { RedisProcess } from '../../../support/redis.js';

test('a connection outlives a process that stands still, and ends when Redis does', async () => {
  const server = await RedisProcess.start();
  const redis = openRedis(server.url);
  const errors: string[] = [];
  redis.on('error', ({ message }) => errors.push(message));
  atEnd(
    () => redis.disconnect(),
    () => server.remove(),
  );
  await nextEvent(redis, 'ready');
  const answer = redis.ping();
  await new Promise<void>((resolve) => setImmediate(resolve));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3500);
  expect(await answer).toBe('PONG');
  // The check that follows finds that Redis has answered.
  await redis.ping();
  expect(errors).toEqual([]);
  server.signal('SIGSTOP');
  await nextEvent(redis, 'close');
  expect(errors).toEqual(['Redis has not answered for 2500 ms']);
});
