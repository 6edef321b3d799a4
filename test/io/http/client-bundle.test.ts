import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Server } from 'socket.io';
import { io } from 'socket.io-client';
import { App, us_listen_socket_close, us_socket_local_port } from '../../../src/engine/sockets.js';
import { createAdapter, Engine, serveClient } from '../../../src/index.js';
import { upgraded } from '../../support/clients.js';

const require = createRequire(import.meta.url);
const app = App();
let url: string;
let close: () => void;

beforeAll(async () => {
  const engine = new Engine().attach(app, { path: '/live' });
  const server = new Server({ adapter: createAdapter(engine) }).bind(engine);
  serveClient(app, { path: '/live', origins: ['https://app.example'] });
  await new Promise<void>((resolve) => {
    app.listen('127.0.0.1', 0, (socket) => {
      if (!socket) throw new Error('cannot listen');
      url = `http://127.0.0.1:${us_socket_local_port(socket)}`;
      close = () => {
        us_listen_socket_close(socket);
        server.close();
        app.close();
      };
      resolve();
    });
  });
});
afterAll(() => close());

test.each(['socket.io.js', 'socket.io.min.js', 'socket.io.esm.min.js', 'socket.io.min.js.map'])(
  'an application on the library serves %s as socket.io does',
  async (name) => {
    const response = await fetch(`${url}/live/${name}`, { headers: { Origin: 'https://app.example' } });
    expect(response.status).toBe(200);
    expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example');
    const file = require.resolve('socket.io/package.json').replace('package.json', `client-dist/${name}`);
    expect(await response.text()).toBe(readFileSync(file, 'utf8'));
    const { status } = await fetch(`${url}/live/${name}`, {
      headers: { 'If-None-Match': response.headers.get('etag')! },
    });
    expect(status).toBe(304);
  },
);

test('beside its engine', async () => {
  const socket = io(url, { path: '/live', forceNew: true });
  // A disconnect over polling would end after the test.
  await upgraded(socket);
  socket.disconnect();
});
