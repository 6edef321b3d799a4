import { once } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import { us_listen_socket_close, us_socket_local_port } from '../../../src/engine/sockets.js';
import type { TemplatedApp, us_listen_socket } from '../../../src/engine/uws/app.js';
import { hasIpv6 } from '../../support/ipv6.js';
import { closeWebSockets, openWebSocket } from '../support/raw.js';
import { closeConnections, RawConnection } from '../support/tcp.js';
import { bases, closeApps, TestApp } from './support/bases.js';

const open: (() => void)[] = [];

afterEach(() => {
  closeWebSockets();
  closeConnections();
  for (const close of open.splice(0)) close();
  closeApps();
});

const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const EXCLUSIVE = 1;

function listening(listen: (done: (socket: us_listen_socket | false) => void) => void, app: TemplatedApp) {
  return new Promise<number>((resolve) => {
    listen((socket) => {
      open.push(() => {
        us_listen_socket_close(socket as us_listen_socket);
        app.close();
      });
      resolve(us_socket_local_port(socket as us_listen_socket));
    });
  });
}

describe.each(bases)('the %s base', (_name, base) => {
  const served = () => new TestApp(base(), false).http('/*', (exchange) => exchange.send(200, {}, 'ok'));

  test('cannot have a port that another app has exclusively', async () => {
    const first = base();
    const port = await listening((done) => void first.listen(0, EXCLUSIVE, done), first);
    const second = base();
    expect(await new Promise((resolve) => void second.listen(port, EXCLUSIVE, resolve))).toBe(false);
  });

  (hasIpv6 ? test : test.skip)('listens on both families without a host', async () => {
    const { app } = served();
    const port = await listening((done) => void app.listen(0, EXCLUSIVE, done), app);
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('ok');
    expect(await (await fetch(`http://[::1]:${port}/`)).text()).toBe('ok');
  });

  test('has no new connections after us_listen_socket_close, and the old ones go on', async () => {
    const { app } = served().ws('/ws', { message: (ws) => void ws.send('pong', false, false) });
    const socket = await new Promise<us_listen_socket>((resolve) => {
      app.listen('127.0.0.1', 0, (each) => resolve(each as us_listen_socket));
    });
    const port = us_socket_local_port(socket);
    const client = openWebSocket(`http://127.0.0.1:${port}/ws?a=b`);
    await client.status;
    const connection = await RawConnection.to(port);
    connection.write(request);
    await connection.responses(1);
    us_listen_socket_close(socket);
    await expect(RawConnection.to(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    connection.write(request);
    await once(connection.socket, 'data');
    client.send('ping');
    expect(await client.next()).toBe('pong');
    // It cuts off what is left.
    app.close();
    expect([await client.closed, await connection.closed]).toEqual([1006, expect.stringContaining('200 OK')]);
  });
});

test('without a binary of uWebSockets.js, what an App cannot do says so', () => {
  const [, base] = bases.find(([name]) => name === 'node')!;
  expect(() => base().get('/', () => {})).toThrow('needs a binary of uWebSockets.js');
});
