import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from '@jest/globals';
import { io, type Socket } from 'socket.io-client';
import { nextEvent } from '../../../support/clients.js';
import { sumOf } from '../../../support/metrics.js';
import { RedisProcess } from '../../../support/redis.js';
import { until } from '../../../support/until.js';
import { type RunningApplication, runApp, stopAll } from '../support/application.js';
import { account, authorization, post } from '../support/operator.js';

const open: Socket[] = [];
const brokers: RedisProcess[] = [];
afterAll(async () => {
  for (const socket of open.splice(0)) socket.disconnect();
  await stopAll();
  await Promise.all(brokers.map((redis) => redis.remove()));
});

/** An operator acts on all machines of a Redis. */
async function startRedis(): Promise<string> {
  const redis = await RedisProcess.start();
  brokers.push(redis);
  return redis.url;
}

/** A client that has joined the room, and has received an offset. */
async function member(app: RunningApplication, user: string, room: string): Promise<Socket> {
  const socket = io(app.url, { forceNew: true, reconnection: false, transports: ['websocket'], auth: { user } });
  open.push(socket);
  const said = new Promise((resolve) => socket.once('said', resolve));
  await nextEvent(socket, 'connect');
  await socket.emitWithAck('join', room);
  await said;
  return socket;
}

/** The applications measure less often. */
const PAUSE_MS = 100;

const keptBy = (app: RunningApplication) =>
  sumOf([app.admin], 'gjallar_recovery_kept', { labels: 'kind="sessions"', headers: { authorization } });

/** Cuts a client off, and waits until one of the machines keeps its session, and no other one. */
async function cutOff(socket: Socket, apps: readonly RunningApplication[]): Promise<void> {
  const kept = async () => (await Promise.all(apps.map(keptBy))).reduce((sum, count) => sum + count, 0);
  const untilKept = (count: number) => until(async () => (await kept()) === count || sleep(PAUSE_MS, false));
  await untilKept(0);
  socket.io.engine.close();
  await untilKept(1);
}

async function comeBack(socket: Socket, app: RunningApplication): Promise<boolean> {
  (socket.io as unknown as { uri: string }).uri = app.url;
  const back = nextEvent(socket, 'connect');
  socket.connect();
  await back;
  return ((await socket.emitWithAck('state')) as { recovered: boolean }).recovered;
}

// Each waits for metrics that are up to a second old, and has applications of its own.
test.concurrent.each(['embedded', 'redis-frames'])(
  'what the operator ends is not recovered, on the bus %s: a client that is offline comes back with a new session',
  async (bus) => {
    const isAlone = bus === 'embedded';
    const env = { ...account, ...(!isAlone && { BUS: bus, GJALLAR_REDIS_URL: await startRedis() }) };
    const start = () => runApp('lifecycle/recovery.mjs', { env });
    const apps = isAlone ? [await start()] : await Promise.all([start(), start()]);
    const [here, there] = [apps[0]!, apps.at(-1)!];
    // By the clock of another machine, a client that connects earlier may have been there before the start.
    if (!isAlone) await sleep(2000);
    const other = await member(here, 'bob', 'lobby');
    await cutOff(other, apps);
    expect(await comeBack(other, there)).toBe(true);
    other.disconnect();
    // Each with a user and a room of its own. What ends up to a second after an action is ended by it, too.
    const targets = [
      ['disconnect', 'disconnected', 1, () => ({ user: 'ada 0' })],
      ['disconnect', 'disconnected', 1, (id: string) => ({ id })],
      ['close-room', 'removed', 2, () => ({ room: 'room 2' })],
      ['disconnect', 'disconnected', 2, () => ({ address: '::ffff:127.0.0.1' })],
    ] as const;
    for (const [at, [action, counted, count, targetOf]] of targets.entries()) {
      const bob = await member(here, `bob ${at}`, `room ${at}`);
      const ada = await member(here, `ada ${at}`, `room ${at}`);
      const target = targetOf(ada.id!);
      await cutOff(ada, apps);
      expect(await post(there, action, target)).toMatchObject({ [counted]: count, complete: true });
      expect(await post(there, action, target)).toMatchObject({ [counted]: 0 });
      expect(await comeBack(ada, there)).toBe(false);
      ada.disconnect();
      bob.disconnect();
    }
  },
  120_000,
);
