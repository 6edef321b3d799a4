import { createRequire } from 'node:module';
import { afterEach, expect, jest, test } from '@jest/globals';
import { Server } from '../../../src/index.js';
import { nextEvent } from '../../support/clients.js';
import { client, closeAll, run } from './support/servers.js';

afterEach(closeAll);

/** The fake timers of sinon, which come with Jest. */
const sinon = createRequire(import.meta.url)('@sinonjs/fake-timers');

const kinds: [string, () => () => void][] = [
  [
    'Jest',
    () => {
      jest.useFakeTimers();
      return () => void jest.useRealTimers();
    },
  ],
  [
    'sinon',
    () => {
      const clock = sinon.withGlobal(globalThis).install();
      return () => clock.uninstall();
    },
  ],
];

test.each(kinds)('messages leave under the fake timers of %s, and after them', async (_name, fake) => {
  const { io, url } = await run(Server);
  io.on('connection', (socket) => {
    void socket.join('room');
  });
  const clients = [1, 2, 3, 4].map(() => client(url, { transports: ['websocket'] }));
  await Promise.all(clients.map((one) => nextEvent(one, 'connect')));
  const exchange = async (value: number) => {
    const heard = clients.map((one) => nextEvent(one, 'said'));
    for (const each of [value, value]) io.to('room').emit('said', each);
    expect(await Promise.all(heard)).toEqual(clients.map(() => [value]));
  };
  await exchange(1);
  const end = fake();
  try {
    for (const value of [2, 3]) await exchange(value);
  } finally {
    end();
  }
  await exchange(4);
});
