import { afterEach, expect, test } from '@jest/globals';
import { io, type Socket } from 'socket.io-client';
import { nextEvent } from '../../../support/clients.js';
import { runApp, stopAll } from '../support/application.js';

const clients: Socket[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect();
  await stopAll();
});

test.each(['at once', 'later'])('what an application sends %s at SIGTERM reaches all clients', async (when) => {
  const app = await runApp('lifecycle/farewell.mjs', { env: { WORKERS: '1', FAREWELL: when, DRAIN_TIMEOUT: '2s' } });
  const leavings = ['websocket', 'websocket', 'websocket', 'polling'].map(async (transport) => {
    const client = io(app.url, { forceNew: true, reconnection: false, transports: [transport] });
    clients.push(client);
    await nextEvent(client, 'connect');
    return () => {
      const heard: string[] = [];
      client.on('farewell', () => heard.push('farewell'));
      client.on('disconnect', () => heard.push('disconnect'));
      return nextEvent(client, 'disconnect').then(() => heard);
    };
  });
  const ends = (await Promise.all(leavings)).map((watch) => watch());
  expect(await app.stop()).toBe(0);
  expect(await Promise.all(ends)).toEqual(ends.map(() => ['farewell', 'disconnect']));
});
