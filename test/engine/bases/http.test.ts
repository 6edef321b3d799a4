import { once } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { HttpExchange } from '../../../src/engine/http/exchange.js';
import { until, whileActing } from '../../support/until.js';
import { closeConnections, RawConnection } from '../support/tcp.js';
import { bases, closeApps, start } from './support/bases.js';
import { handshake } from './support/frames.js';

afterEach(() => {
  closeConnections();
  closeApps();
});

const get = (path: string, ...headers: string[]) =>
  `${[`GET ${path} HTTP/1.1`, 'Host: x', ...headers].join('\r\n')}\r\n\r\n`;
const post = (...headers: string[]) => get('/', ...headers).replace('GET', 'POST');
const text = (body: string) => (exchange: HttpExchange) => exchange.send(200, {}, body);

/** The bodies of the responses, in order. */
const bodiesIn = (received: string) =>
  received
    .split(/(?=HTTP\/1\.1 )/)
    .filter(Boolean)
    .map((each) => each.slice(each.indexOf('\r\n\r\n') + 4));

describe.each(bases)('the %s base', (name, base) => {
  test('chooses the route of the exact path first, then that of the longer prefix', async () => {
    const { port } = await start(base, (app) =>
      app.http('/*', text('all')).http('/a/*', text('below a')).http('/a/b', text('a b')),
    );
    const at = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).text();
    expect(await at('/')).toBe('all');
    expect(await at('/x/y?z')).toBe('all');
    expect(await at('/a/')).toBe('below a');
    expect(await at('/a/b/c')).toBe('below a');
    expect(await at('/a/b?q=1')).toBe('a b');
  });

  test('answers 404 without a route', async () => {
    const { port } = await start(base, (app) => app.http('/a/b/', text('b')));
    expect((await fetch(`http://127.0.0.1:${port}/a/b`)).status).toBe(404);
    expect((await fetch(`http://127.0.0.1:${port}/a/b/`)).status).toBe(200);
  });

  test('shows a request as node:http does', async () => {
    let seen: HttpExchange['request'] | undefined;
    const { port } = await start(base, (app) =>
      app.http('/*', (exchange) => {
        seen = exchange.request;
        exchange.send(200, {}, '');
      }),
    );
    const connection = await RawConnection.to(port);
    const headers = [
      'X-One: First',
      'X-Two: a',
      'X-Two: b',
      'X-Bytes: J\xc3\xa9e',
      'Authorization: 1',
      'Authorization: 2',
    ];
    connection.socket.write(get('/p/%20q?a=1&b=x%20y', ...headers, 'Cookie: a=1', 'Cookie: b=2'), 'latin1');
    await connection.responses(1);
    expect([seen!.method, seen!.url, seen!._query]).toEqual(['GET', '/p/%20q?a=1&b=x%20y', { a: '1', b: 'x y' }]);
    expect(seen!.headers).toMatchObject({
      'x-one': 'First',
      'x-two': 'a, b',
      'x-bytes': 'J\xc3\xa9e',
      authorization: '1',
      cookie: 'a=1; b=2',
    });
    expect(seen!.connection.remoteAddress).toMatch(/127\.0\.0\.1$/);
  });

  test('answers with status, headers and length, and to a HEAD without the body', async () => {
    const { port } = await start(base, (app) =>
      app.http('/', (exchange) => exchange.send(403, { 'X-A': ['1', '2'] }, 'short')),
    );
    for (const method of ['GET', 'HEAD']) {
      const connection = await RawConnection.to(port);
      connection.write(get('/', 'Connection: close').replace('GET', method));
      const received = await connection.closed;
      expect(received).toMatch(/^HTTP\/1.1 403 Forbidden\r\n/);
      expect(received).toMatch(/\r\nX-A: 1\r\nX-A: 2\r\n/);
      expect(received).toMatch(/\r\nContent-Length: 5\r\n/);
      expect(received.endsWith(method === 'HEAD' ? '\r\n\r\n' : '\r\n\r\nshort')).toBe(true);
    }
  });

  test('streams as fast as the client reads', async () => {
    const part = 'x'.repeat(100_000);
    let isWaiting = false;
    const { port } = await start(base, (app) =>
      app.http('/', async (exchange) => {
        const body = exchange.stream!(200, {});
        for (let n = 0; n < 200; n++) {
          const timer = setTimeout(() => {
            isWaiting = true;
          }, 50);
          await body.write(part);
          clearTimeout(timer);
        }
        body.end();
      }),
    );
    const connection = await RawConnection.to(port, false);
    connection.write(get('/', 'Connection: close'));
    await until(() => isWaiting);
    connection.read();
    const received = await connection.closed;
    expect(received.length).toBeGreaterThan(20_000_000);
    expect(received).toMatch(/\r\n0\r\n\r\n$/);
  });

  test('sends a response that is larger than all buffers whole', async () => {
    const body = Buffer.alloc(30_000_000, 'abcdefg');
    let completed = 0;
    const { port } = await start(base, (app) =>
      app.http('/', (exchange) => {
        exchange.onComplete = () => completed++;
        exchange.send(200, {}, body);
      }),
    );
    const response = await fetch(`http://127.0.0.1:${port}/`);
    expect(Buffer.from(await response.arrayBuffer()).equals(body)).toBe(true);
    await until(() => completed === 1);
  });

  test('tells of clients that go before their response, once', async () => {
    const events: string[] = [];
    const note = (what: string) => (exchange: HttpExchange) => {
      exchange.onAborted = () => events.push(`${what} aborted`);
      exchange.onComplete = () => events.push(`${what} complete`);
      if (what === 'done') exchange.send(200, {}, '');
      if (what === 'destroyed') exchange.destroy();
    };
    const { port } = await start(base, (app) => {
      for (const what of ['open', 'done', 'destroyed']) app.http(`/${what}`, note(what));
    });
    const done = await RawConnection.to(port);
    done.write(get('/done'));
    await done.responses(1);
    done.socket.destroy();
    const destroyed = await RawConnection.to(port);
    destroyed.write(get('/destroyed'));
    expect(await destroyed.closed).toBe('');
    const gone = await RawConnection.to(port);
    gone.write(get('/open'));
    gone.socket.end();
    await gone.closed;
    await until(() => events.includes('open aborted'));
    expect(events.sort()).toEqual(['destroyed complete', 'done complete', 'open aborted', 'open complete']);
  });

  describe('reads a body', () => {
    const echo = (exchange: HttpExchange) =>
      exchange.readBody((error, body) => exchange.send(error ? 400 : 200, {}, error ?? body));

    test('whole, up to its limit', async () => {
      const { port } = await start(base, (app) => app.http('/', echo, 600_000));
      const body = 'ü'.repeat(300_000);
      const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body });
      expect(await response.text()).toBe(body);
      const longer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: `${body}x` });
      expect(await longer.text()).toBe('too large');
    });

    test('of a length that is not known', async () => {
      const { port } = await start(base, (app) => app.http('/', echo));
      const connection = await RawConnection.to(port);
      connection.write(`${post('Transfer-Encoding: chunked', 'Connection: close')}2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n`);
      expect(await connection.closed).toMatch(/\r\n\r\nabcde$/);
    });

    test('after 100 Continue', async () => {
      const { port } = await start(base, (app) => app.http('/', echo));
      const connection = await RawConnection.to(port);
      connection.write(post('Content-Length: 2', 'Expect: 100-continue', 'Connection: close'));
      expect(await connection.responses(1)).toEqual(['HTTP/1.1 100 Continue']);
      connection.write('ab');
      expect(await connection.closed).toMatch(/ab$/);
    });

    test('of which the end does not come, as aborted', async () => {
      const errors: unknown[] = [];
      const { port } = await start(base, (app) =>
        app.http('/', (exchange) => exchange.readBody((error) => errors.push(error))),
      );
      const connection = await RawConnection.to(port);
      connection.write(`${post('Content-Length: 10')}half`);
      await new Promise((resolve) => setTimeout(resolve, 20));
      connection.socket.destroy();
      await until(() => errors.length > 0);
      expect(errors).toEqual(['aborted']);
    });

    test('that nobody wants, for the sake of the next request', async () => {
      const { port } = await start(base, (app) => app.http('/', text('early')));
      const connection = await RawConnection.to(port);
      connection.write(post('Content-Length: 200000')).write('x'.repeat(200_000));
      connection.write(post('Content-Length: 2', 'Connection: close')).write('ab');
      await connection.closed;
      expect(connection.received.match(/HTTP\/1.1 200/g)?.length).toBe(2);
    });
  });

  describe('of requests that are pipelined', () => {
    test('answers all in order', async () => {
      const { port } = await start(base, (app) => app.http('/*', (exchange) => text(exchange.request.url)(exchange)));
      const connection = await RawConnection.to(port);
      connection.write(get('/1') + get('/2') + get('/3', 'Connection: close'));
      expect(bodiesIn(await connection.closed)).toEqual(['/1', '/2', '/3']);
    });

    test('serves none before a response that is late, and many end the connection', async () => {
      let served = 0;
      const { port } = await start(base, (app) => app.http('/', () => served++));
      const connection = await RawConnection.to(port);
      connection.write(get('/').repeat(100));
      await connection.closed;
      expect([served, connection.statuses]).toEqual([1, []]);
    });

    test('serves those behind a client that does not read once it does', async () => {
      const body = 'x'.repeat(3e6);
      let served = 0;
      const { port } = await start(base, (app) =>
        app
          .http('/', (exchange) => {
            served++;
            exchange.send(200, {}, body);
          })
          .http('/other', text('other')),
      );
      const connection = await RawConnection.to(port);
      connection.socket.pause();
      connection.write(get('/').repeat(15) + get('/', 'Connection: close'));
      while (served === 0) await (await fetch(`http://127.0.0.1:${port}/other`)).text();
      connection.socket.resume();
      const received = await connection.closed;
      // uWebSockets.js closes the connection.
      if (name === 'native') return;
      expect(bodiesIn(received)).toEqual(Array(16).fill(body));
    });
  });

  const smuggled = get('/smuggled');
  test.each([
    ['no HTTP', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'.repeat(50)],
    ['a head over 16 KB', get('/', `X: ${'x'.repeat(20_000)}`)],
    ['an address over 16 KB', get(`/${'x'.repeat(20_000)}`)],
    ['three thousand headers', get('/', ...Array.from({ length: 3000 }, (_, n) => `X${n}: ${n}`))],
    ['a length that is no number', `${post('Content-Length: x')}${smuggled}`],
    ['a negative length', `${post('Content-Length: -5')}${smuggled}`],
    ['a length beyond all numbers', `${post(`Content-Length: ${'9'.repeat(40)}`)}${smuggled}`],
    ['a chunk without an end', `${post('Transfer-Encoding: chunked')}${'f'.repeat(40)}\r\n${smuggled}`],
    ['a chunk whose length is no number', `${post('Transfer-Encoding: chunked')}zz\r\n${smuggled}`],
    ['a space before the colon', `${post('Content-Length : 5')}${smuggled}`],
    ['a header without a name', get('/', ': x')],
    ['an empty key of a WebSocket', handshake().replace(/(?<=Key: ).*/, '')],
    ['a WebSocket on a POST', handshake().replace('GET', 'POST')],
  ])('does not serve %s, and harms no other client', async (_what, bytes) => {
    const served: string[] = [];
    const { port } = await start(base, (app) => {
      app.http('/*', (exchange) => {
        served.push(exchange.request.url);
        exchange.send(200, {}, 'ok');
      });
      app.ws('/*', { open: () => void served.push('a WebSocket') });
    });
    const connection = await RawConnection.to(port);
    connection.socket.write(bytes, 'latin1');
    connection.socket.end();
    await connection.closed;
    expect(served).not.toContain('a WebSocket');
    expect(served).not.toContain('/smuggled');
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('ok');
  });

  test('keeps no client waiting for hundreds that send a part of a head', async () => {
    const { port } = await start(base, (app) => app.http('/*', text('ok')));
    const connections = await Promise.all(Array.from({ length: 300 }, () => RawConnection.to(port)));
    for (const connection of connections) connection.write('GET / HTTP/1.1\r\nX: ');
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('ok');
  });

  test('counts connections, those of WebSockets included, until they end', async () => {
    const { Engine } = await import('../../../src/engine/engine.js');
    const engine = new Engine();
    const { port } = await start(base, ({ app }) => void engine.attach(app));
    const plain = await RawConnection.to(port);
    plain.write(get('/'));
    await plain.responses(1);
    const webSocket = await RawConnection.to(port);
    webSocket.write(handshake('/socket.io/?EIO=4&transport=websocket'));
    await webSocket.responses(1);
    expect(engine.connectionGuard.open).toBe(2);
    for (const { socket } of [plain, webSocket]) {
      socket.end();
      await once(socket, 'close');
    }
    await until(() => engine.connectionGuard.open === 0);
    engine.close();
  });
});

// uWebSockets.js has times of its own: see test/engine/slow-requests.test.ts.
test('the node base disconnects those that do not read, or do not write', async () => {
  const [, node] = bases.find(([name]) => name === 'node')!;
  const ended: string[] = [];
  const { port } = await start(node, (app) => {
    app.http('/unread', (exchange) => {
      exchange.onComplete = () => ended.push('response');
      exchange.send(200, {}, Buffer.alloc(20_000_000));
    });
    app.http('/slow', (exchange) => exchange.readBody((error) => ended.push(`body ${error}`)));
    app.http('/waits', (exchange) => {
      exchange.onAborted = () => ended.push('poll');
    });
  });
  const head = (path: string, ...headers: string[]) => `${[path, 'Host: x', ...headers].join('\r\n')}\r\n\r\n`;
  const unread = await RawConnection.to(port, false);
  unread.write(head('GET /unread HTTP/1.1'));
  const slow = await RawConnection.to(port);
  slow.write(head('POST /slow HTTP/1.1', 'Content-Length: 900000'));
  const waiting = await RawConnection.to(port);
  waiting.write(head('GET /waits HTTP/1.1'));
  const headless = await RawConnection.to(port);
  headless.write('GET /unread HTTP/1.1\r\nX: ');
  const talk = () => {
    slow.write('x');
    headless.write('x');
  };
  const responded = until(() => ended.includes('response'));
  await whileActing(500, talk, Promise.all([slow.closed, headless.closed, responded]));
  await until(() => ended.length === 2);
  expect(ended.sort()).toEqual(['body aborted', 'response']);
});
