import { expect, test } from '@jest/globals';
import { Engine } from '../../../src/engine/engine.js';
import { App, us_listen_socket_close, us_socket_local_port } from '../../../src/engine/sockets.js';
import type { us_listen_socket } from '../../../src/engine/uws/app.js';
import { answerHttp, type HttpExchange, sendJson } from '../../../src/io/http/index.js';

test('a response leaves after the broadcasts that the engine holds', async () => {
  const app = App();
  const engine = new Engine().attach(app);
  const left: string[] = [];
  const finished: boolean[] = [];
  const handle = (exchange: HttpExchange) => {
    engine.outbox.publish('room', 'news', false, false);
    engine.outbox.afterHeld(() => left.push(exchange.finished ? 'response' : 'broadcast'));
    sendJson(exchange, 200, {}, { ok: true });
    finished.push(exchange.finished);
  };
  answerHttp(app, engine, { pattern: '/say', handle });
  const listening = await new Promise<us_listen_socket>((resolve) => {
    app.listen('127.0.0.1', 0, (socket) => resolve(socket as us_listen_socket));
  });
  try {
    const response = await fetch(`http://127.0.0.1:${us_socket_local_port(listening)}/say`);
    expect(await response.json()).toEqual({ ok: true });
    expect([left, finished]).toEqual([['broadcast'], [false]]);
  } finally {
    engine.close();
    us_listen_socket_close(listening);
    app.close();
  }
});
