import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { atEnd } from '../../../support/ends.js';
import { temporaryFolder } from '../../../support/folder.js';
import { RedisProcess } from '../../../support/redis.js';
import { startSentinel } from '../../../support/sentinel.js';
import { StoredWorkers, stateOf, storedIn } from '../support/stored.js';

test('a room that another worker fills before Redis is connected for the first time reports no outage', async () => {
  const redis = await RedisProcess.start();
  const workers = new StoredWorkers({ redis: redis.url });
  const redisPort = Number(new URL(redis.url).port);
  const sockets: Socket[] = [];
  let isOpen = false;
  const pass = (socket: Socket) => {
    const other = connect(redisPort, '127.0.0.1');
    sockets.push(other);
    socket.pipe(other).pipe(socket);
  };
  const gate = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.push(socket);
    if (isOpen) pass(socket);
  }).listen(0, '127.0.0.1');
  await once(gate, 'listening');
  atEnd(async () => {
    await workers.stopAll();
    for (const socket of sockets) socket.destroy();
    gate.close();
    await redis.remove();
  });
  const one = await workers.start();
  one.room.set('a', 1);
  await one.room.stored();
  const { port } = gate.address() as AddressInfo;
  const two = await workers.open({ redis: `redis://127.0.0.1:${port}` });
  const outages: string[] = [];
  two.room.on('storeDown', (reason) => outages.push(reason));
  await two.room.ready();
  expect(stateOf(two.room)).toEqual({ a: 1 });
  two.room.set('b', 2);
  isOpen = true;
  for (const socket of [...sockets]) pass(socket);
  await two.room.stored();
  expect(await storedIn(redis.url)).toMatchObject({ a: '1', b: '2' });
  expect(outages).toEqual([]);
});

test('a room is stored where Sentinel says', async () => {
  const redis = await RedisProcess.start();
  const sentinel = await startSentinel(temporaryFolder(), redis.port);
  const workers = new StoredWorkers({ redis: `redis-sentinel://${sentinel.address}/chat` });
  atEnd(
    () => workers.stopAll(),
    () => redis.remove(),
  );
  const { room } = await workers.start();
  room.set('a', 1);
  await room.stored();
  expect(await storedIn(redis.url)).toEqual({ a: '1' });
});
