import { afterEach, describe, expect, test } from '@jest/globals';
import type { Socket } from 'socket.io-client';
import { connect as connectChat, disconnectAll, nextEvent } from '../../support/clients.js';
import { RedisProcess } from '../../support/redis.js';
import { shared } from '../../support/shared.js';
import { type RunningApplication, runApp, stopAll } from './support/application.js';
import { account, post } from './support/operator.js';

const redis = shared(
  () => RedisProcess.start(),
  (started) => started.remove(),
);
afterEach(async () => {
  disconnectAll();
  await stopAll();
});

const connect = connectChat as unknown as (...values: Parameters<typeof connectChat>) => Socket;
/** Connects clients of a user to a namespace, and one to `/` so that it is in the room `all`. */
async function connectAs(app: RunningApplication, user: string, count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(app.url, { auth: { user } }));
  await Promise.all(sockets.map((socket) => nextEvent(socket, 'connect')));
  return sockets;
}

const ended = (sockets: readonly Socket[]) =>
  Promise.all(sockets.map(async (socket) => (await nextEvent<[string]>(socket, 'disconnect'))[0]));

const byOperator = (count: number) => Array.from({ length: count }, () => 'io server disconnect');

describe('the operator of an application on two machines', () => {
  test('disconnects users, addresses and sockets, and closes rooms, on both of them', async () => {
    const env = { ...account, GJALLAR_REDIS_URL: redis.url };
    const [here, there] = await Promise.all([runApp('chat.mjs', { env }), runApp('chat.mjs', { env })]);
    const adas = [...(await connectAs(here, 'ada', 5)), ...(await connectAs(there, 'ada', 4))];
    const bobs = [...(await connectAs(here, 'bob', 3)), ...(await connectAs(there, 'bob', 4))];
    const reached = { workers: 4, machines: 2 };

    const adasEnded = ended(adas);
    const answer = await post(here, 'disconnect', { user: 'ada' });
    expect(answer).toEqual({ status: 200, ok: true, disconnected: 9, reached, complete: true });
    expect(await adasEnded).toEqual(byOperator(9));
    expect(await bobs[0]!.emitWithAck('count')).toBe(7);
    const repeated = await post(here, 'disconnect', { user: 'ada' });
    expect(repeated).toEqual({ status: 200, ok: true, disconnected: 0, reached, complete: true });

    // A namespace of its own shares the connection, which ends with it.
    const oneEnded = ended([bobs[6]!]);
    expect(await post(here, 'disconnect', { id: bobs[6]!.id })).toMatchObject({ disconnected: 1 });
    expect(await oneEnded).toEqual(byOperator(1));

    expect(await post(there, 'close-room', { room: 'all' })).toMatchObject({ ok: true, removed: 6, reached });
    expect(await bobs[0]!.emitWithAck('count')).toBe(0);
    expect(bobs.filter(({ connected }) => connected)).toHaveLength(6);

    const restEnded = ended(bobs.slice(0, 6));
    expect(await post(there, 'disconnect', { address: '::ffff:127.0.0.1' })).toMatchObject({ disconnected: 6 });
    expect(await restEnded).toEqual(byOperator(6));

    const line = await here.logged(({ msg }) => msg === 'the operator acted');
    expect(line).toMatchObject({
      level: 'info',
      process: 'primary',
      operator: 'op',
      address: '127.0.0.1',
      action: 'disconnect',
      target: { user: 'ada' },
      result: { disconnected: 9, reached, complete: true },
    });
  });
});
