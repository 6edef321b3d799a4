import { afterEach, describe, expect, test } from '@jest/globals';
import type { HttpResponse } from '../../src/sockets.js';
import { closeConnections, RawConnection } from '../engine/support/tcp.js';
import { closeApps, sources, start } from './support/sources.js';

afterEach(() => {
  closeConnections();
  closeApps();
});

const post = (...headers: string[]) => `${['POST / HTTP/1.1', 'Host: x', ...headers].join('\r\n')}\r\n\r\n`;

describe.each(sources)('%s sockets', (_name, sockets) => {
  /** Answers with the body; lists the parts of each. */
  async function echo() {
    const parts: [number, boolean][] = [];
    const aborted: string[] = [];
    const { port } = await start(sockets, (app) =>
      app.post('/', (res) => {
        const chunks: Buffer[] = [];
        res.onAborted(() => aborted.push(Buffer.concat(chunks).toString()));
        res.onData((chunk, isLast) => {
          // Its memory is valid only during the call.
          chunks.push(Buffer.from(chunk.slice(0)));
          parts.push([chunk.byteLength, isLast]);
          if (isLast) res.cork(() => void res.end(Buffer.concat(chunks)));
        });
      }),
    );
    return { port, parts, aborted };
  }

  test('a body comes whole, and the last part says so', async () => {
    const { port, parts } = await echo();
    const body = 'ü'.repeat(300_000);
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body });
    expect(await response.text()).toBe(body);
    expect(parts.filter(([, isLast]) => isLast).length).toBe(1);
    expect(parts.reduce((sum, [length]) => sum + length, 0)).toBe(600_000);
  });

  test('a body without bytes, and a chunked one', async () => {
    const { port } = await echo();
    const connection = await RawConnection.to(port);
    connection.write(post('Content-Length: 0'));
    await connection.responses(1);
    connection.write(`${post('Transfer-Encoding: chunked', 'Connection: close')}2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n`);
    expect(await connection.closed).toMatch(/\r\n\r\nabcde$/);
  });

  test('a client that goes in the middle of a body aborts its request', async () => {
    const { port, parts, aborted } = await echo();
    const connection = await RawConnection.to(port);
    connection.write(`${post('Content-Length: 10')}half`);
    while (parts.length === 0) await new Promise(setImmediate);
    connection.socket.destroy();
    while (aborted.length === 0) await new Promise(setImmediate);
    expect([parts, aborted]).toEqual([[[4, false]], ['half']]);
  });

  test('a body that nobody reads does not harm the next request', async () => {
    let served = 0;
    const { port } = await start(sockets, (app) =>
      app.post('/', (res) => {
        served++;
        res.end('early');
      }),
    );
    const connection = await RawConnection.to(port);
    connection.write(post('Content-Length: 200000')).write('x'.repeat(200_000));
    connection.write(post('Content-Length: 2', 'Connection: close')).write('ab');
    await connection.closed;
    expect([served, connection.received.match(/HTTP\/1.1 200/g)?.length]).toEqual([2, 2]);
  });

  test('a paused client is not read', async () => {
    let response: HttpResponse | undefined;
    let received = 0;
    const { port } = await start(sockets, (app) =>
      app.post('/', (res) => {
        response = res;
        res.onAborted(() => {});
        res.onData((chunk, isLast) => {
          if (received === 0) res.pause();
          received += chunk.byteLength;
          if (isLast) res.cork(() => void res.end(String(received)));
        });
      }),
    );
    const connection = await RawConnection.to(port);
    connection.write(post('Content-Length: 20000000', 'Connection: close')).write('x'.repeat(20_000_000));
    while (received === 0) await new Promise(setImmediate);
    // The buffers fill up meanwhile, and nothing more is taken.
    for (let n = 0; n < 50; n++) expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404);
    expect(connection.socket.writableLength).toBeGreaterThan(1_000_000);
    expect(received).toBeLessThan(1_000_000);
    response!.resume();
    expect(await connection.closed).toMatch(/20000000$/);
  });

  test('100-continue is answered before the body', async () => {
    const { port } = await echo();
    const connection = await RawConnection.to(port);
    connection.write(post('Content-Length: 2', 'Expect: 100-continue', 'Connection: close'));
    expect(await connection.responses(1)).toEqual(['HTTP/1.1 100 Continue']);
    connection.write('ab');
    expect(await connection.closed).toMatch(/ab$/);
  });
});
