import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, get } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { portableSockets } from '../../src/portable/index.js';
import type { TemplatedApp, us_listen_socket } from '../../src/sockets.js';
import { closeWebSockets, openWebSocket } from '../engine/support/raw.js';
import { closeConnections, RawConnection } from '../engine/support/tcp.js';
import { closeApps, closeLater, sources, start } from './support/sources.js';

afterEach(() => {
  closeWebSockets();
  closeConnections();
  closeApps();
});

const ok = (app: TemplatedApp) => app.any('/*', (res) => void res.end('ok'));
const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

describe.each(sources)('%s sockets', (_name, sockets) => {
  const EXCLUSIVE = 1;

  test('a port that another one has exclusively is not to be had', async () => {
    const first = sockets.App();
    const port = await new Promise<number>((resolve) => {
      first.listen(0, EXCLUSIVE, (socket) => {
        closeLater(sockets, first, socket as us_listen_socket);
        resolve(sockets.us_socket_local_port(socket as us_listen_socket));
      });
    });
    const second = sockets.App();
    expect(await new Promise((resolve) => void second.listen(port, EXCLUSIVE, resolve))).toBe(false);
  });

  test('listens on both families without a host', async () => {
    const app = ok(sockets.App());
    const port = await new Promise<number>((resolve) => {
      app.listen(0, EXCLUSIVE, (socket) => {
        closeLater(sockets, app, socket as us_listen_socket);
        resolve(sockets.us_socket_local_port(socket as us_listen_socket));
      });
    });
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('ok');
    expect(await (await fetch(`http://[::1]:${port}/`)).text()).toBe('ok');
  });

  test('after us_listen_socket_close there are no new connections, and the old ones go on', async () => {
    const app = ok(sockets.App()).ws('/ws', { message: (ws) => void ws.send('pong') });
    const listening = await new Promise<us_listen_socket>((resolve) => {
      app.listen('127.0.0.1', 0, (socket) => resolve(socket as us_listen_socket));
    });
    const port = sockets.us_socket_local_port(listening);
    const client = openWebSocket(`http://127.0.0.1:${port}/ws?a=b`);
    await client.status;
    const connection = await RawConnection.to(port);
    connection.write(request);
    await connection.responses(1);
    sockets.us_listen_socket_close(listening);
    await expect(RawConnection.to(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    connection.write(request);
    await once(connection.socket, 'data');
    client.send('ping');
    expect(await client.next()).toBe('pong');
    // It cuts off what is left.
    app.close();
    expect([await client.closed, await connection.closed]).toEqual([1006, expect.stringContaining('200 OK')]);
  });

  test('a Unix socket carries requests and WebSockets', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'portable-'));
    const path = join(folder, 'socket');
    const app = ok(sockets.App()).ws('/ws', { open: (ws) => void ws.send('hello') });
    const listening = await new Promise<us_listen_socket>((resolve) => void app.listen_unix(resolve, path));
    closeLater(sockets, app, listening);
    const [response] = await once(get({ socketPath: path, path: '/' }), 'response');
    expect(response.statusCode).toBe(200);
    response.resume();
    const client = new WebSocket(`ws+unix://${path}:/ws`);
    const [message] = await once(client, 'message');
    expect(String(message)).toBe('hello');
    client.terminate();
    rmSync(folder, { recursive: true });
  });
});

test('portable sockets take a WebSocket from an application’s own server, with the rooms of the app', async () => {
  const { app } = await start(portableSockets, (made) =>
    made.ws('/ws', {
      maxPayloadLength: 100,
      open: (ws) => {
        ws.subscribe('t');
        ws.send('hello');
      },
    }),
  );
  const server = createServer((_message, response) => response.end('node'));
  server.on('upgrade', (message, socket, head) => app.adopt!(message, socket as Socket, head));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = openWebSocket(`http://127.0.0.1:${port}/ws?a=b`);
  expect(await client.next()).toBe('hello');
  app.publish('t', 'to the room');
  expect(await client.next()).toBe('to the room');
  expect(await openWebSocket(`http://127.0.0.1:${port}/elsewhere?a=b`).status).toBe(404);
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('node');
  closeWebSockets();
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});
