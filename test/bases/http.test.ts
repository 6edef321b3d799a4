import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { HttpResponse } from '../../src/sockets.js';
import { closeConnections, RawConnection } from '../engine/support/tcp.js';
import { closeApps, sources, start } from './support/sources.js';

afterEach(() => {
  closeConnections();
  closeApps();
});

const get = (path: string, ...headers: string[]) =>
  `${[`GET ${path} HTTP/1.1`, 'Host: x', ...headers].join('\r\n')}\r\n\r\n`;

/** The bodies of the responses, in order. */
const bodiesIn = (received: string) =>
  received
    .split(/(?=HTTP\/1\.1 )/)
    .filter(Boolean)
    .map((each) => each.slice(each.indexOf('\r\n\r\n') + 4));

describe.each(sources)('%s sockets', (name, sockets) => {
  describe('routes', () => {
    const text = (body: string) => (res: HttpResponse) => void res.end(body);

    test('of the exact path come first, then longer prefixes, and the method before any', async () => {
      const { port } = await start(sockets, (app) => {
        app.any('/*', text('all'));
        app.any('/a/*', text('below a'));
        app.get('/a/b', text('get b'));
        app.any('/a/b', text('any b'));
      });
      const at = async (path: string, method = 'GET') =>
        (await fetch(`http://127.0.0.1:${port}${path}`, { method })).text();
      expect(await at('/')).toBe('all');
      expect(await at('/x/y?z')).toBe('all');
      expect(await at('/a/')).toBe('below a');
      expect(await at('/a/b/c')).toBe('below a');
      expect(await at('/a/b?q=1')).toBe('get b');
      expect(await at('/a/b', 'POST')).toBe('any b');
    });

    test('are chosen by the method', async () => {
      const { port } = await start(sockets, (app) => {
        for (const method of ['get', 'post', 'put', 'patch', 'del', 'options'] as const) app[method]('/', text(method));
        app.head('/', (res) => res.writeHeader('X-Method', 'head').writeHeader('Content-Length', '7').endWithoutBody());
      });
      const answers = await Promise.all(
        ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].map(async (method) =>
          (await fetch(`http://127.0.0.1:${port}/`, { method })).text(),
        ),
      );
      expect(answers).toEqual(['get', 'post', 'put', 'patch', 'del', 'options']);
      const head = await fetch(`http://127.0.0.1:${port}/`, { method: 'HEAD' });
      expect([head.headers.get('x-method'), head.headers.get('content-length')]).toEqual(['head', '7']);
    });

    test('that yield pass the request on', async () => {
      const { port } = await start(sockets, (app) => {
        app.get('/a', (_res, req) => void req.setYield(true));
        app.any('/*', text('next'));
      });
      expect(await (await fetch(`http://127.0.0.1:${port}/a`)).text()).toBe('next');
    });

    test('that do not exist answer 404', async () => {
      const { port } = await start(sockets, (app) => app.get('/a/b/', text('b')));
      expect((await fetch(`http://127.0.0.1:${port}/a/b`)).status).toBe(404);
      expect((await fetch(`http://127.0.0.1:${port}/a/b/`)).status).toBe(200);
    });
  });

  test('a request shows its parts', async () => {
    let seen: unknown[] = [];
    const { port } = await start(sockets, (app) =>
      app.any('/*', (res, req) => {
        const all: string[][] = [];
        req.forEach((...header) => void all.push(header));
        const address = Buffer.from(res.getRemoteAddress());
        seen = [req.getCaseSensitiveMethod(), req.getMethod(), req.getUrl(), req.getQuery(), req.getQuery('b')];
        seen.push(req.getHeader('x-one'), req.getHeader('x-none'), [...address.subarray(-4)]);
        seen.push(all.filter(([name]) => name!.startsWith('x-')));
        res.end();
      }),
    );
    const connection = await RawConnection.to(port);
    connection.write(get('/p/%20q?a=1&b=x%20y', 'X-One: First', 'X-Two: a', 'X-Two: b', 'X-Utf: \xfc'));
    await connection.responses(1);
    expect(seen.slice(0, 8)).toEqual(['GET', 'get', '/p/%20q', 'a=1&b=x%20y', 'x y', 'First', '', [127, 0, 0, 1]]);
    expect((seen[8] as string[][]).slice(0, 3)).toEqual([
      ['x-one', 'First'],
      ['x-two', 'a'],
      ['x-two', 'b'],
    ]);
  });

  describe('a response', () => {
    test('has its status, headers and length', async () => {
      const { port } = await start(sockets, (app) =>
        app.get('/', (res) => {
          res.cork(() => {
            res.writeStatus('418 Teapot').writeHeader('X-A', '1').writeHeader('X-A', '2').end('short');
          });
        }),
      );
      const connection = await RawConnection.to(port);
      connection.write(get('/', 'Connection: close'));
      const received = await connection.closed;
      expect(received).toMatch(/^HTTP\/1.1 418 Teapot\r\n/);
      expect(received).toMatch(/\r\nX-A: 1\r\nX-A: 2\r\n/);
      expect(received).toMatch(/\r\nContent-Length: 5\r\n([\s\S]*\r\n)?\r\nshort$/);
    });

    test('of 304 has no length', async () => {
      const { port } = await start(sockets, (app) =>
        app.get('/', (res) => res.writeStatus('304 Not Modified').endWithoutBody()),
      );
      const connection = await RawConnection.to(port);
      connection.write(get('/') + get('/'));
      await connection.responses(2);
      expect(connection.received).not.toMatch(/content-length|transfer-encoding/i);
    });

    test('in parts is chunked, and takes bytes and text', async () => {
      const { port } = await start(sockets, (app) =>
        app.get('/', (res) => {
          res.onAborted(() => {});
          res.cork(() => void res.writeHeader('X-A', '1').write('one '));
          setImmediate(() => {
            res.cork(() => void res.write(Buffer.from('two ')));
            res.cork(() => void res.end(new Uint8Array(Buffer.from('three')).buffer));
          });
        }),
      );
      const response = await fetch(`http://127.0.0.1:${port}/`);
      expect(response.headers.get('transfer-encoding')).toBe('chunked');
      expect(await response.text()).toBe('one two three');
    });

    test('is copied before the call returns', async () => {
      const { port } = await start(sockets, (app) =>
        app.get('/', (res) => {
          const bytes = Buffer.from('original');
          res.end(bytes);
          bytes.fill('x');
        }),
      );
      expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('original');
    });

    test('that ends the connection is the last one', async () => {
      let served = 0;
      const { port } = await start(sockets, (app) =>
        app.get('/', (res) => {
          served++;
          let isGone = false;
          res.onAborted(() => {
            isGone = true;
          });
          setImmediate(() => isGone || res.cork(() => void res.end('bye', true)));
        }),
      );
      const connection = await RawConnection.to(port);
      connection.write(get('/'));
      expect(await connection.closed).toMatch(/bye$/);
      const other = await RawConnection.to(port);
      other.write(get('/') + get('/'));
      await other.closed;
      expect(other.statuses.length).toBeLessThanOrEqual(1);
      expect(served).toBe(2);
    });

    test('larger than the buffers is taken in parts, and arrives whole', async () => {
      const body = Buffer.alloc(30_000_000, 'abcdefg');
      const offsets: number[] = [];
      let first: [boolean, boolean] | undefined;
      const done = new Promise<void>((resolve) => {
        void start(sockets, (app) =>
          app.get('/', (res) => {
            res.onAborted(() => {});
            res.cork(() => {
              first = res.tryEnd(body, body.length);
              if (first[1]) resolve();
            });
            res.onWritable((offset) => {
              offsets.push(offset);
              expect(offset).toBe(res.getWriteOffset());
              const [isWritten, isDone] = res.tryEnd(body.subarray(offset), body.length);
              if (isDone) resolve();
              return isWritten;
            });
          }),
        ).then(async ({ port }) => {
          const connection = await RawConnection.to(port, false);
          connection.write(get('/', 'Connection: close'));
          // It is not read before the server has taken a part of it.
          while (first === undefined) await new Promise(setImmediate);
          connection.read();
          received = connection.closed;
        });
      });
      let received: Promise<string> | undefined;
      await done;
      expect(first).toEqual([false, false]);
      expect(offsets.length).toBeGreaterThan(1);
      expect([...offsets].sort((a, b) => a - b)).toEqual(offsets);
      const [all] = bodiesIn(await received!);
      expect(all!.length).toBe(body.length);
      expect(all).toBe(body.toString('latin1'));
    });

    test('to a client that has gone is told to onAborted, once, and only before its end', async () => {
      const aborted: string[] = [];
      const { port } = await start(sockets, (app) => {
        app.get('/open', (res) => void res.onAborted(() => aborted.push('open')));
        app.get('/done', (res) => {
          res.onAborted(() => aborted.push('done'));
          res.end('done');
        });
        app.get('/closed', (res) => {
          res.onAborted(() => aborted.push('closed'));
          res.close();
        });
      });
      const done = await RawConnection.to(port);
      done.write(get('/done'));
      await done.responses(1);
      done.socket.destroy();
      const closed = await RawConnection.to(port);
      closed.write(get('/closed'));
      expect(await closed.closed).toBe('');
      const gone = await RawConnection.to(port);
      gone.write(get('/open'));
      gone.socket.end();
      await gone.closed;
      expect(aborted).toEqual(['closed', 'open']);
    });
  });

  describe('requests that are pipelined', () => {
    test('are answered in order', async () => {
      const { port } = await start(sockets, (app) => app.get('/*', (res, req) => void res.end(req.getUrl())));
      const connection = await RawConnection.to(port);
      connection.write(get('/1') + get('/2') + get('/3', 'Connection: close'));
      expect(bodiesIn(await connection.closed)).toEqual(['/1', '/2', '/3']);
    });

    test('behind a response that is late are not served before it, and many end the connection', async () => {
      let served = 0;
      const { port } = await start(sockets, (app) =>
        app.get('/', (res) => {
          served++;
          res.onAborted(() => {});
        }),
      );
      const connection = await RawConnection.to(port);
      connection.write(get('/').repeat(100));
      await connection.closed;
      expect([served, connection.statuses]).toEqual([1, []]);
    });

    test('wait for a client that does not read', async () => {
      const body = 'x'.repeat(3e6);
      let served = 0;
      const { port } = await start(sockets, (app) => {
        app.get('/', (res, req) => {
          served++;
          res.end(body, req.getHeader('connection') === 'close');
        });
        app.get('/other', (res) => void res.end('other'));
      });
      const connection = await RawConnection.to(port);
      connection.socket.pause();
      connection.write(get('/').repeat(15) + get('/', 'Connection: close'));
      while (served === 0) await (await fetch(`http://127.0.0.1:${port}/other`)).text();
      // The kernel takes a few of them. uWebSockets.js answers all that it has read, and holds them.
      if (name === 'portable') expect(served).toBeLessThan(9);
      connection.socket.resume();
      expect(bodiesIn(await connection.closed)).toEqual(Array(16).fill(body));
    });

    test('behind the last one are not served, do not cut its response off, and are hardly read', async () => {
      let served = 0;
      let made = 0;
      const count = () => void made++;
      const body = 'x'.repeat(1e6);
      const { port } = await start(sockets, (app) =>
        app.get('/*', (res) => {
          served++;
          res.end(body, true);
        }),
      );
      subscribe('http.server.request.start', count);
      try {
        const connection = await RawConnection.to(port);
        connection.write(get('/').repeat(1000));
        expect(bodiesIn(await connection.closed)).toEqual([body]);
      } finally {
        unsubscribe('http.server.request.start', count);
      }
      expect(served).toBe(1);
      expect(made).toBeLessThan(10);
    });
  });

  test('a filter counts connections, and can close them', async () => {
    const changes: number[] = [];
    let max = 1;
    const { port } = await start(sockets, (app) => {
      app.get('/', (res) => void res.end('ok'));
      // biome-ignore lint/suspicious/useIterableCallbackReturn: this is not the filter of an array.
      app.filter((res, change) => {
        changes.push(change);
        if (change > 0 && changes.filter((each) => each > 0).length > max) res.close();
      });
    });
    const first = await RawConnection.to(port);
    first.write(get('/'));
    await first.responses(1);
    const second = await RawConnection.to(port);
    expect(await second.closed).toBe('');
    max = 3;
    first.socket.end();
    await once(first.socket, 'close');
    const third = await RawConnection.to(port);
    third.write(get('/'));
    await third.responses(1);
    expect(changes).toEqual([1, 1, -1, -1, 1]);
  });
});
