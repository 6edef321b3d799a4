import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { until } from '../../../support/until.js';
import type { Wanderer } from '../support/recovering.js';
import { RecoveringMachine } from '../support/recovering-machine.js';

let machine: RecoveringMachine;

beforeEach(() => {
  machine = new RecoveringMachine();
});

afterEach(() => machine.remove());

const upTo = (number: number, from = 1) => Array.from({ length: number - from + 1 }, (_, at) => from + at);

test('a worker that is killed loses nothing that it has told others', async () => {
  const [first, second, third, fourth] = [
    await machine.start(1),
    await machine.start(2),
    await machine.start(3),
    await machine.start(4),
  ];
  const victims = [await machine.client(first!, 'room'), await machine.client(first!, 'room', 'polling')];
  const witnesses = [await machine.client(second!, 'room'), await machine.client(fourth!, 'room')];
  const [victim] = victims as [Wanderer];
  const { id } = victim.socket;
  first!.act('flood', { room: 'room', sid: id });
  await victim.heardAll(500);
  await witnesses[0]!.heardAll(200);
  const cut = victims.map(({ socket }) => new Promise((resolve) => socket.once('disconnect', resolve)));
  await machine.kill(first!);
  await Promise.all(cut);
  await Promise.all(victims.map((client) => client.comeBack(third!.url)));
  expect(victims.map(({ recovered }) => recovered)).toEqual([[true], [true]]);
  expect(victim.socket.id).toBe(id);
  expect(await victim.socket.emitWithAck('state')).toEqual({
    ...{ worker: '3', recovered: true, rooms: [id, 'room'], data: { joined: 'room' } },
  });
  // Behind everything that the others were told.
  third!.act('emit', { room: 'room', sender: 'fence' });
  for (const client of [...victims, ...witnesses]) await until(() => client.of('fence').length === 1);
  const told = witnesses.map((client) => client.of('1'));
  expect(told[0]).toEqual(upTo(told[0]!.length));
  expect(told[1]).toEqual(told[0]);
  for (const client of victims) {
    const heard = client.of('1');
    expect(heard).toEqual(upTo(heard.length));
    expect(heard.length).toBeGreaterThanOrEqual(told[0]!.length);
  }
  const direct = victim.of('direct');
  expect(direct).toEqual(upTo(direct.length));
  expect(direct.length).toBeGreaterThan(100);
});

test('a client that was away during a whole reload returns to a new worker', async () => {
  const old = [await machine.start(1), await machine.start(2)];
  const away = await machine.client(old[0]!, 'room');
  const stays = [await machine.client(old[0]!, 'room'), await machine.client(old[1]!, 'room', 'polling')];
  const { id } = away.socket;
  await away.cutOff();
  for (const worker of old) worker.act('emit', { room: 'room' });
  await until(() => stays.every((client) => client.heard.length === 3));
  const fresh = [await machine.start(3), await machine.start(4)];
  fresh[0]!.act('emit', { room: 'room' });
  old[1]!.act('emit');
  for (const [at, worker] of old.entries()) {
    const exit = once(worker.process, 'exit');
    const gone = new Promise((resolve) => stays[at]!.socket.once('disconnect', resolve));
    worker.act('close');
    await gone;
    await stays[at]!.comeBack(fresh[at]!.url);
    await exit;
    machine.workers.delete(worker.id);
  }
  fresh[1]!.act('emit', { room: 'room' });
  await away.comeBack(fresh[1]!.url);
  expect([away, ...stays].map(({ recovered }) => recovered)).toEqual([[true], [true], [true]]);
  expect(away.socket.id).toBe(id);
  for (const client of [away, ...stays]) {
    await until(() => client.of('4').length === 1);
    expect([client.of('1'), client.of('2'), client.of('3'), client.of('4')]).toEqual([[1], [1, 2], [1], [1]]);
  }
});
