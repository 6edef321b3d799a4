import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { StateService } from '../../../src/service/chat/state/service.js';
import { admitWatcher, watch } from '../../../src/service/chat/state/watch.js';
import { onHubOf } from '../../features/state/support/room-on.js';
import { disconnectAll, pairOn } from '../../io/rooms/support/clients.js';
import { Machine, startMember, type TestNode } from '../../io/rooms/support/node.js';

let machine: Machine;
let node: TestNode;

beforeEach(async () => {
  machine = await Machine.start();
  await machine.startHub('machine0');
  node = await startMember(await machine.openBackplane());
});
afterEach(async () => {
  disconnectAll();
  await node.close();
  await machine.remove();
});

test('a room with too many members that are behind lets nobody else in, over Socket.IO or plain WebSockets', async () => {
  const states = onHubOf(node, () => new StateService(node.io as never, { stateRooms: ['a'] }, node.engine));
  const room = states.find('a', 'join', undefined);
  await room.ready();
  const { socket } = await pairOn(node);
  const context = { states } as never;
  const enter = async (bufferedAmount: number) => {
    const member = admitWatcher(context, 'a', { name: 'Ada', grant: {} }, {});
    await member.enter({ topicSocket: undefined, bufferedAmount, send: () => {}, refuse: () => {} });
    return member;
  };
  // They read nothing, and so stay behind.
  for (let count = 1; count < 100_000; count++) await enter(1e9);
  const stuck = await enter(1e9);
  await expect(enter(0)).rejects.toMatchObject({ code: 'STATE_BUSY' });
  const watching = () => watch(context, Object.assign(socket, { data: { grant: {} } }) as never, { room: 'a' });
  await expect(watching()).rejects.toMatchObject({ code: 'STATE_BUSY' });
  expect(room.stats().members).toBe(100_000);
  stuck.leave();
  expect(await watching()).toEqual({ room: 'a', event: 'state:a', keys: 0 });
  expect(room.stats().members).toBe(100_000);
});

describe('requests over HTTP that wait for the hub', () => {
  const ada = { name: 'Ada', grant: {} };
  const whole = '"the value"';
  const fields = `{"field":"${'x'.repeat(60_000)}"}`;
  const bodyOf = (text: string) => async () => Buffer.from(text);

  /** Ends the hub: a worker that asks it waits for the next one. */
  async function withoutHub() {
    const states = onHubOf(node, () => new StateService(node.io as never, { stateRooms: ['a'] }, node.engine));
    const room = states.find('a', 'join', undefined);
    await room.ready();
    await states.set(undefined, 'a', 'k', bodyOf(whole));
    machine.stopHub();
    return { states, nextHub: room.caughtUp() };
  }

  /** The code of the first of many requests that is refused before the hub is waited for no longer. */
  function firstRefused(nextHub: Promise<void>, requests: readonly Promise<unknown>[]): Promise<unknown> {
    const refused = requests.map((request) =>
      request.then(
        () => nextHub,
        ({ code }) => code,
      ),
    );
    return Promise.race([nextHub, ...refused]);
  }

  test.each<[string, (states: StateService) => Promise<unknown>]>([
    ['GET', (states) => states.get(ada, 'a', 'k')],
    ['PATCH', (states) => states.patch(ada, 'a', 'patched', bodyOf(fields))],
    ['DELETE', (states) => states.delete(ada, 'a', 'k')],
  ])('%s: eight of one user wait', async (_method, request) => {
    const { states, nextHub } = await withoutHub();
    const requests = Array.from({ length: 12 }, () => request(states));
    expect(await firstRefused(nextHub, requests)).toBe('RATE_LIMITED');
    await machine.startHub('machine0');
    const results = await Promise.allSettled(requests);
    expect(results.filter(({ status }) => status === 'fulfilled').length).toBe(8);
  });

  test('PATCH: 32 MiB of bodies wait', async () => {
    const { states, nextHub } = await withoutHub();
    const large = Buffer.alloc(1_000_000, ' ');
    large.write('{"field":1}');
    const patch = () => states.patch(undefined, 'a', 'patched', async () => large);
    const requests = Array.from({ length: 40 }, patch);
    expect(await firstRefused(nextHub, requests)).toBe('OVERLOADED');
    await machine.startHub('machine0');
    const results = await Promise.allSettled(requests);
    expect(results.filter(({ status }) => status === 'fulfilled').length).toBe(33);
  });
});
