import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { Server, type Socket } from 'socket.io';
import { Adapter, type Session } from 'socket.io-adapter';
import { io as connect } from 'socket.io-client';
import { countConnecting, isConnecting } from '../../src/compat/socket-io.js';
import { nextEvent } from '../support/clients.js';

const open: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** Starts a server with one middleware. */
async function start(middleware: Parameters<Server['use']>[0], adapter = Adapter) {
  const http = createServer();
  const io = new Server(http, { adapter, connectionStateRecovery: { skipMiddlewares: false } });
  countConnecting(io.of('/'));
  io.use(middleware);
  await new Promise<void>((resolve) => http.listen(0, resolve));
  open.push(() => io.close());
  return { io, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` };
}

function client(url: string, auth = {}) {
  const socket = connect(url, { forceNew: true, auth });
  open.push(() => socket.disconnect());
  return socket;
}

test.each([
  ['let it in', undefined, 'connect'],
  ['rejected it', new Error('no'), 'connect_error'],
] as const)('a client is connecting until the middlewares have %s', async (_name, error, event) => {
  let answer: (value: [Socket, (error?: Error) => void]) => void;
  const asked = new Promise<[Socket, (error?: Error) => void]>((resolve) => {
    answer = resolve;
  });
  const { url } = await start((socket, next) => answer([socket, next]));
  const socket = client(url);
  const [{ conn }, next] = await asked;
  expect(isConnecting(conn)).toBe(true);
  next(error);
  await nextEvent(socket, event);
  expect(isConnecting(conn)).toBe(false);
});

test('a client is connecting while its session is looked up', async () => {
  let found: (session: Session | null) => void;
  let looking: () => void;
  const begun = new Promise<void>((resolve) => {
    looking = resolve;
  });
  class SlowAdapter extends Adapter {
    override restoreSession() {
      looking();
      return new Promise<Session>((resolve) => {
        found = resolve as typeof found;
      });
    }
  }
  const { io, url } = await start((_socket, next) => next(), SlowAdapter);
  const arrived = new Promise<object>((resolve) => {
    io.engine.on('connection', resolve);
  });
  const socket = client(url, { pid: 'pid', offset: 'offset' });
  await begun;
  const conn = await arrived;
  expect(isConnecting(conn)).toBe(true);
  found!(null);
  await nextEvent(socket, 'connect');
  expect(isConnecting(conn)).toBe(false);
});
