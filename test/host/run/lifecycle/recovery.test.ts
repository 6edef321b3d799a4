import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { io, type Socket } from 'socket.io-client';
import { nextEvent } from '../../../support/clients.js';
import { atEnd } from '../../../support/ends.js';
import { sumOf } from '../../../support/metrics.js';
import { until } from '../../../support/until.js';
import { type RunningApplication, runApp, stopAll } from '../support/application.js';

interface Listener {
  readonly socket: Socket;
  readonly said: string[];
}

interface State {
  pid: number;
  recovered: boolean;
  /** The worker on which the client joined the room. */
  since: number;
}

const open: Socket[] = [];

let app: RunningApplication;

beforeAll(async () => {
  app = await runApp('lifecycle/recovery.mjs', { args: ['--workers', '3'], env: { DRAIN_TIMEOUT: '1s' } });
});
afterEach(() => {
  for (const socket of open.splice(0)) socket.disconnect();
});
afterAll(stopAll);

async function listen(options: object = {}): Promise<Listener> {
  const socket = io(app.url, { forceNew: true, reconnectionDelay: 50, reconnectionDelayMax: 200, ...options });
  open.push(socket);
  const said: string[] = [];
  socket.on('said', (text: string) => said.push(text));
  await nextEvent(socket, 'connect');
  await socket.emitWithAck('join');
  await until(() => said.length === 1);
  return { socket, said };
}

const stateOf = (socket: Socket) => socket.emitWithAck('state') as Promise<State>;

test('clients of any application recover after a reload, with what they missed', async () => {
  const away = await listen({ reconnection: false });
  const listeners = [await listen(), await listen({ transports: ['polling'] }), await listen()];
  const { id } = away.socket;
  away.socket.io.engine.close();
  listeners[0]!.socket.emit('say', 'before');
  await until(() => listeners.every(({ said }) => said.length === 2));
  const returned = listeners.map(({ socket }) => nextEvent(socket, 'connect'));
  app.process.kill('SIGHUP');
  await app.logged(({ msg }) => msg === 'reload finished');
  await Promise.all(returned);
  listeners[1]!.socket.emit('say', 'after');
  const back = nextEvent(away.socket, 'connect');
  away.socket.connect();
  await back;
  for (const { socket, said } of [away, ...listeners]) {
    await until(() => said.length === 3);
    expect(said).toEqual(['welcome', 'before', 'after']);
    const { pid, recovered, since } = await stateOf(socket);
    expect({ recovered, isReplaced: pid !== since }).toEqual({ recovered: true, isReplaced: true });
  }
  expect(away.socket.id).toBe(id);
  const recovered = { labels: 'result="recovered"' };
  expect(await sumOf([app.admin], 'gjallar_recovery_attempts_total', recovered)).toBe(4);
  expect(await sumOf([app.admin], 'gjallar_recovery_kept', { labels: 'kind="packets"' })).toBeGreaterThan(0);
});

test('the client of an only worker recovers, too', async () => {
  const shared = app;
  app = await runApp('lifecycle/recovery.mjs', { env: { WORKERS: '1', DRAIN_TIMEOUT: '0' } });
  atEnd(() => (app = shared));
  const { socket } = await listen();
  const back = nextEvent(socket, 'connect');
  app.process.kill('SIGHUP');
  await back;
  const { pid, recovered, since } = await stateOf(socket);
  expect({ recovered, isReplaced: pid !== since }).toEqual({ recovered: true, isReplaced: true });
});

test('clients that are away get all that a replaced worker has sent until it ended', async () => {
  const [away, ...others] = [await listen({ reconnection: false }), await listen(), await listen()] as const;
  const heard = [away, ...others].map(({ socket }) => {
    const numbers = new Map<number, number[]>();
    socket.on('talk', (pid: number, number: number) => numbers.set(pid, [...(numbers.get(pid) ?? []), number]));
    return numbers;
  });
  others[0]!.socket.emit('talk');
  for (const numbers of heard) await until(() => numbers.size === 3);
  away.socket.io.engine.close();
  const seen = app.log.length;
  app.process.kill('SIGHUP');
  await until(() => app.log.slice(seen).some(({ msg }) => msg === 'reload finished'));
  const back = nextEvent(away.socket, 'connect');
  away.socket.connect();
  await back;
  const [first, ...rest] = heard;
  for (const [pid, numbers] of first!) {
    for (const other of rest) await until(() => other.get(pid)!.at(-1) === numbers.at(-1));
    expect(numbers).toEqual(numbers.map((_, index) => numbers[0]! + index));
  }
  expect((await stateOf(away.socket)).recovered).toBe(true);
});
