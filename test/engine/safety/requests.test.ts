import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../src/engine/clock.js';
import { RequestGuard } from '../../../src/engine/limits/request-guard.js';
import { routeHttp } from '../../../src/engine/routes.js';
import { App } from '../../../src/engine/sockets.js';
import { socketsInUse } from '../../../src/engine/uws/uws.js';
import { sumOf } from '../../support/metrics.js';
import { sharedServer } from '../../support/server.js';
import { closeEngines, listen } from '../support/engine.js';
import { closeConnections, RawConnection } from '../support/tcp.js';

afterEach(() => {
  closeConnections();
  closeEngines();
});

const host = () => ({
  settings: { trustProxy: 0, allowedHosts: undefined, keepAlive: 'auto' as const },
  requestGuard: new RequestGuard(systemClock),
  addresses: undefined,
});

/** Portable sockets take more: node:http makes the objects of all requests of a read before the first is answered. */
const MAX_GROWTH = socketsInUse.kind === 'portable' ? 300_000_000 : 150_000_000;

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

describe('pipelined requests', () => {
  const server = sharedServer({ WORKERS: '1' });

  const memory = () => sumOf([server.url], 'process_resident_memory_bytes');

  test('for a large file, on a connection that does not read, take little memory and end the connection', async () => {
    await fetch(`${server.url}/socket.io/socket.io.js`).then((response) => response.arrayBuffer());
    const before = await memory();
    const connections = await Promise.all(Array.from({ length: 5 }, () => RawConnection.to(server.port, false)));
    for (const connection of connections) connection.write(get('/socket.io/socket.io.js').repeat(2000));
    // 1.5 GB of responses. The server answers others meanwhile.
    for (let n = 0; n < 20; n++) {
      expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
      expect((await memory()) - before).toBeLessThan(MAX_GROWTH);
    }
    for (const connection of connections) {
      const received = await connection.read().closed;
      expect(received.length).toBeLessThan(20_000_000);
    }
  });
});

test('a thousand and more requests of one read end their connection', async () => {
  const app = App();
  let handled = 0;
  const route = host();
  routeHttp(app, route, {
    pattern: '/',
    secure: false,
    handle: (exchange) => {
      handled++;
      exchange.send(204, {}, '');
    },
  });
  const connection = await RawConnection.to(await listen(app));
  connection.write(get('/').repeat(10_000));
  await connection.closed;
  // A read takes half a megabyte at most, more than all of them together.
  expect(handled).toBeLessThan(10_000);
  expect(route.requestGuard.floods).toBeGreaterThan(0);
});

test('a response that is larger than the buffers arrives whole, however slowly it is read', async () => {
  const app = App();
  const body = randomBytes(16_000_000);
  let completed = 0;
  routeHttp(app, host(), {
    pattern: '/',
    secure: false,
    handle: (exchange) => {
      exchange.onComplete = () => completed++;
      exchange.send(200, {}, body);
    },
  });
  const socket = connect(await listen(app), '127.0.0.1');
  socket.write(get('/'));
  const hash = createHash('sha256');
  let head = '';
  let length = 0;
  let completedAt = 0;
  while (length < body.length) {
    await once(socket, 'readable');
    for (;;) {
      const chunk = socket.read(Math.min(16_384, socket.readableLength || 1)) as Buffer | null;
      if (!chunk) break;
      let rest = chunk;
      if (!head.includes('\r\n\r\n')) {
        const text = head + chunk.toString('latin1');
        const end = text.indexOf('\r\n\r\n');
        rest = end === -1 ? Buffer.alloc(0) : Buffer.from(text.slice(end + 4), 'latin1');
        head = end === -1 ? text : text.slice(0, end + 4);
      }
      hash.update(rest);
      length += rest.length;
      if (completed === 0) completedAt = length;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  expect(head).toContain(`Content-Length: ${body.length}`);
  expect(hash.digest('hex')).toBe(createHash('sha256').update(body).digest('hex'));
  // It was not handed over in one piece.
  expect(completedAt).toBeGreaterThan(1_000_000);
  expect(completed).toBe(1);
  // The connection serves the next request.
  socket.write(get('/'));
  await once(socket, 'readable');
  socket.destroy();
});
