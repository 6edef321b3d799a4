import { afterAll, expect, test } from '@jest/globals';
import { MAX_IN_FLIGHT } from '../../../../src/service/chat/handlers/answer.js';
import { connect, connected, disconnectAll, expectOk } from '../../../support/clients.js';
import { RedisProcess } from '../../../support/redis.js';
import { startServer } from '../../../support/server.js';

const cleanUps: (() => unknown)[] = [disconnectAll];

afterAll(async () => {
  for (const cleanUp of cleanUps) await cleanUp();
});

test('reads beyond the bound of those without a reply are rejected, and reads work again after the replies', async () => {
  const redis = await RedisProcess.start();
  const server = await startServer({ WORKERS: '1', RATE_LIMIT: 'off', DRAIN_TIMEOUT: '0', REDIS_URL: redis.url });
  cleanUps.push(
    () => server.stop(),
    () => redis.remove(),
  );
  const client = connect(server.url, { transports: ['websocket'] });
  await connected(client);
  expectOk(await client.emitWithAck('join', 'hall'));
  redis.signal('SIGSTOP');
  // Messages are not bounded, but count.
  const messages = Array.from({ length: MAX_IN_FLIGHT }, () =>
    client.emitWithAck('message', { room: 'hall', text: 'x' }),
  );
  const who = async () => {
    const reply = await client.emitWithAck('who', 'hall');
    return reply.ok ? 'ok' : reply.code;
  };
  expect(await Promise.all(Array.from({ length: 50 }, who))).toEqual(Array(50).fill('RATE_LIMITED'));
  redis.signal('SIGCONT');
  await Promise.all(messages);
  expect(await who()).toBe('ok');
});
