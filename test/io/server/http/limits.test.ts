import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocket, WebSocketServer } from 'ws';
import type { Engine } from '../../../../src/engine/engine.js';
import { Server } from '../../../../src/index.js';
import { nextEvent } from '../../../support/clients.js';
import { until } from '../../../support/until.js';
import { ask, get } from '../support/requests.js';
import { client, closeAll, closeLater, run } from '../support/servers.js';

const POLLING = '/socket.io/?EIO=4&transport=polling';

afterEach(closeAll);

describe.each(['auto', 'node'] as const)('the limits of the engine, with the port owner %s', (portOwner) => {
  test('apply to host names, but not to the requests of the application', async () => {
    const options = { portOwner, allowedHosts: ['own.example'] };
    const { port } = await run(Server, (_message, response) => response.end('fine'), options);
    const statusFor = async (path: string, host: string) => (await get(port, path, { headers: { host } })).status;
    expect(await statusFor(POLLING, 'own.example')).toBe(200);
    expect(await statusFor(POLLING, 'other.example')).toBe(421);
    expect(await statusFor('/', 'other.example')).toBe(200);
    const ws = new WebSocket(`ws://127.0.0.1:${port}/socket.io/?EIO=4&transport=websocket`);
    const [error] = await nextEvent<[Error]>(ws as never, 'error');
    expect(error.message).toContain('421');
  });

  test('apply to the waiting requests of one address', async () => {
    const { port } = await run(Server, undefined, { portOwner, maxConnectionsPerIp: 2 });
    const sessions: string[] = [];
    for (let index = 0; index < 2; index++) {
      const { body } = await get(port, POLLING);
      sessions.push(JSON.parse(body.slice(1)).sid);
    }
    const polls = sessions.map((sid) => {
      const poll = ask(port, { path: `${POLLING}&sid=${sid}` }).end();
      poll.on('error', () => {});
      return poll;
    });
    await until(async () => (await get(port, '/socket.io/?transport=unknown')).status === 429);
    for (const poll of polls) poll.destroy();
    await until(async () => (await get(port, '/socket.io/?transport=unknown')).status === 400);
  });
});

test('every connection is counted once, and no longer when it has ended', async () => {
  const { http, io, port, url } = await run(Server, (_message, response) => response.end('fine'));
  closeLater(new Server(http, { path: '/second' }));
  // With a server and a path, `ws` would reject the upgrades of Socket.IO.
  const other = new WebSocketServer({ noServer: true });
  http.on('upgrade', (message, socket, head) => {
    if (message.url === '/other') other.handleUpgrade(message, socket, head, () => {});
  });
  const guard = (io.engine as unknown as Engine).connectionGuard;
  expect(guard.open).toBe(0);
  const ws = new WebSocket(`ws://127.0.0.1:${port}/other`);
  await once(ws, 'open');
  const clients = [
    client(url, { transports: ['websocket'] }),
    client(url, { transports: ['websocket'], path: '/second' }),
  ];
  await Promise.all(clients.map((one) => nextEvent(one, 'connect')));
  await get((http.address() as AddressInfo).port);
  await until(() => guard.open === 3);
  ws.terminate();
  for (const one of clients) one.disconnect();
  await until(() => guard.open === 0);
  other.close();
});
