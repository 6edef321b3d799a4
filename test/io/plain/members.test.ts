import { once } from 'node:events';
import { afterEach, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { GjallarError } from '../../../src/base/errors.js';
import { type BackgroundFailure, failures } from '../../../src/base/owner.js';
import { Engine } from '../../../src/engine/engine.js';
import { App, us_listen_socket_close, us_socket_local_port } from '../../../src/engine/sockets.js';
import type { us_listen_socket } from '../../../src/engine/uws/app.js';
import { type PlainMember, PlainWebSockets } from '../../../src/io/plain/index.js';
import { until } from '../../support/until.js';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0).reverse()) end();
});

/** A server whose application makes members, and what has failed in it. */
async function start(admit: (path: string) => Promise<Partial<PlainMember>>) {
  const app = App();
  const engine = new Engine().attach(app);
  const plain = new PlainWebSockets(engine);
  const nothing: PlainMember = { room: undefined, enter: async () => {}, say: async () => {}, leave: () => {} };
  plain.attach(app, { admit: async ({ url }) => ({ ...nothing, ...(await admit(url)) }) });
  const listening = await new Promise<us_listen_socket>((resolve) => {
    app.listen('127.0.0.1', 0, (socket) => resolve(socket as us_listen_socket));
  });
  const failed: string[] = [];
  const onFailure = (failure: unknown) => failed.push(((failure as BackgroundFailure).error as Error).message);
  failures.subscribe(onFailure);
  ends.push(() => {
    failures.unsubscribe(onFailure);
    plain.close();
    engine.close();
    us_listen_socket_close(listening);
    app.close();
  });
  const open = (path: string) => {
    const socket = new WebSocket(`ws://127.0.0.1:${us_socket_local_port(listening)}${path}`);
    // One that was rejected is ended before it is open.
    socket.on('error', () => {});
    ends.push(() => socket.terminate());
    return socket;
  };
  return { plain, failed, open };
}

const mistake = async () => {
  throw new TypeError('a mistake of the application');
};

test('what the application throws rejects or closes with its code; what is no error of gjallar is reported too', async () => {
  const refuse = async () => {
    throw new GjallarError('BAD_INPUT');
  };
  const { plain, failed, open } = await start(async (path) => {
    if (path === '/refused') return refuse();
    if (path === '/mistake') return mistake();
    if (path === '/enter') return { enter: mistake };
    return { say: path === '/say' ? refuse : mistake };
  });
  for (const [path, status] of [
    ['/refused', 400],
    ['/mistake', 500],
  ] as const) {
    const [, response] = (await once(open(path), 'unexpected-response')) as [unknown, { statusCode: number }];
    expect(response.statusCode).toBe(status);
  }
  expect(String((await once(open('/enter'), 'close'))[1])).toBe('INTERNAL');
  for (const [path, reason] of [
    ['/say', 'BAD_INPUT'],
    ['/fail', 'INTERNAL'],
  ] as const) {
    const socket = open(path);
    await once(socket, 'open');
    socket.send('Hello');
    expect(String((await once(socket, 'close'))[1])).toBe(reason);
  }
  expect(failed).toEqual([
    'a mistake of the application',
    'a mistake of the application',
    'a mistake of the application',
  ]);
  expect(plain.size).toBe(0);
});

test('a lone surrogate in a text becomes U+FFFD, and disconnects nobody', async () => {
  const { plain, open } = await start(async () => ({
    room: 'prices',
    enter: async (client) => client.send(['\ud83d, sent']),
  }));
  const socket = open('/');
  const heard: string[] = [];
  socket.on('message', (data) => heard.push(String(data)));
  await once(socket, 'message');
  plain.publish('prices', 'published \udc00');
  plain.publish('prices', 'last');
  await until(() => heard.length === 3 || socket.readyState === WebSocket.CLOSED);
  expect(heard).toEqual(['\ufffd, sent', 'published \ufffd', 'last']);
});
