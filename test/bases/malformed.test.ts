import { afterEach, describe, expect, test } from '@jest/globals';
import { closeConnections, RawConnection } from '../engine/support/tcp.js';
import { handshake } from './support/frames.js';
import { closeApps, sources, start } from './support/sources.js';

afterEach(() => {
  closeConnections();
  closeApps();
});

describe.each(sources)('%s sockets', (name, sockets) => {
  const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';
  const get = (...headers: string[]) => `${['GET / HTTP/1.1', 'Host: x', ...headers].join('\r\n')}\r\n\r\n`;
  const post = (...headers: string[]) => get(...headers).replace('GET', 'POST');

  test.each([
    ['no HTTP', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'.repeat(50)],
    ['a head over 16 KB', get(`X: ${'x'.repeat(20_000)}`)],
    ['an address over 16 KB', get().replace('/', `/${'x'.repeat(20_000)}`)],
    ['three thousand headers', get(...Array.from({ length: 3000 }, (_, n) => `X${n}: ${n}`))],
    ['a length that is no number', `${post('Content-Length: x')}${smuggled}`],
    ['a negative length', `${post('Content-Length: -5')}${smuggled}`],
    ['a length beyond all numbers', `${post(`Content-Length: ${'9'.repeat(40)}`)}${smuggled}`],
    ['a chunk without an end', `${post('Transfer-Encoding: chunked')}${'f'.repeat(40)}\r\n${smuggled}`],
    ['a chunk whose length is no number', `${post('Transfer-Encoding: chunked')}zz\r\n${smuggled}`],
    ['a space before the colon', `${post('Content-Length : 5')}${smuggled}`],
    ['a header without a name', get(': x')],
    ['an empty key of a WebSocket', handshake().replace(/(?<=Key: ).*/, '')],
    ['a WebSocket on a POST', handshake().replace('GET', 'POST')],
  ])('%s is not served, and harms no other client', async (_what, bytes) => {
    const served: string[] = [];
    const { port } = await start(sockets, (app) => {
      app.any('/*', (res, req) => {
        served.push(`${req.getMethod()} ${req.getUrl()}`);
        res.end('ok');
      });
      app.ws('/*', { open: () => void served.push('a WebSocket') });
    });
    const connection = await RawConnection.to(port);
    connection.socket.write(bytes, 'latin1');
    connection.socket.end();
    await connection.closed;
    expect(served).not.toContain('a WebSocket');
    // Of uWebSockets.js, src/engine/uws finds out what could be smuggled.
    if (name === 'portable') expect(served).not.toContain('get /smuggled');
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('ok');
  });

  test('hundreds of connections that send a part of a head keep no other waiting', async () => {
    const { port } = await start(sockets, (app) => app.any('/*', (res) => void res.end('ok')));
    const connections = await Promise.all(Array.from({ length: 300 }, () => RawConnection.to(port)));
    for (const connection of connections) connection.write('GET / HTTP/1.1\r\nX: ');
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('ok');
  });
});
