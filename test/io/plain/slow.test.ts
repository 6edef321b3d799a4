import { once } from 'node:events';
import { afterEach, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { joinTexts } from '../../../src/base/names.js';
import { Engine } from '../../../src/engine/engine.js';
import type { EngineOptions } from '../../../src/engine/options.js';
import { App, us_listen_socket_close, us_socket_local_port } from '../../../src/engine/sockets.js';
import type { us_listen_socket } from '../../../src/engine/uws/app.js';
import { type PlainOptions, PlainWebSockets } from '../../../src/io/plain/index.js';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0).reverse()) close();
});

/** A server of plain WebSockets, all in one room. */
async function start(engineOptions: EngineOptions, options?: PlainOptions) {
  const app = App();
  const engine = new Engine(engineOptions).attach(app);
  const plain = new PlainWebSockets(engine, options);
  const state = { left: 0 };
  const guest = {
    room: 'r',
    enter: async () => {},
    say: async () => {},
    leave: () => state.left++,
  };
  plain.attach(app, { admit: async () => guest });
  const listening = await new Promise<us_listen_socket>((resolve) => {
    app.listen('127.0.0.1', 0, (socket) => resolve(socket as us_listen_socket));
  });
  closers.push(() => {
    plain.close();
    engine.close();
    us_listen_socket_close(listening);
    app.close();
  });
  const join = async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${us_socket_local_port(listening)}/r`);
    closers.push(() => socket.terminate());
    const heard: string[] = [];
    socket.on('message', (data) => heard.push(String(data)));
    await once(socket, 'open');
    return { socket, heard };
  };
  return { app, engine, plain, state, join };
}

test('a plain WebSocket whose client stops reading is closed with a named reason, and leaves the room at once', async () => {
  const { plain, state, join } = await start({ maxBackpressure: 100_000 });
  const [slow, other] = [await join(), await join()];
  slow.socket.pause();
  const said: string[] = [];
  while (state.left === 0) {
    const text = `${said.length} ${'x'.repeat(10_000)}`;
    said.push(text);
    plain.publish('r', text);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const closeFrame = once(slow.socket, 'close') as Promise<[number, Buffer]>;
  slow.socket.resume();
  const [code, reason] = await closeFrame;
  expect([code, reason.toString()]).toEqual([1013, 'SLOW_CLIENT']);
  // What it was sent before the limit is all there, without a gap.
  expect(slow.heard).toEqual(said.slice(0, slow.heard.length));
  while (other.heard.length < said.length) await once(other.socket, 'message');
  expect(other.heard).toEqual(said);
  expect(state.left).toBe(1);
});

test('a client that has lost a message gets none of the later ones, though it could read again before it is closed', async () => {
  const { app, engine, plain, state, join } = await start({ maxBackpressure: 100_000 });
  const [slow, other] = [await join(), await join()];
  slow.socket.pause();
  const topic = joinTexts('plain', 'r');
  const text = 'x'.repeat(10_000);
  while (engine.slow.muted.size === 0 && state.left === 0) {
    plain.publish('r', text);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(state.left).toBe(0);
  const said = engine.counters.broadcasts;
  plain.publish('r', 'later');
  engine.outbox.flush();
  expect(app.numSubscribers(topic)).toBe(1);
  while (other.heard.length <= said) await once(other.socket, 'message');
  expect(other.heard.at(-1)).toBe('later');
  slow.socket.resume();
  const [code] = await (once(slow.socket, 'close') as Promise<[number]>);
  expect(code).toBe(1013);
  expect(slow.heard).not.toContain('later');
  expect(slow.heard.length).toBeLessThan(said);
});
