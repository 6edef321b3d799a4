import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, createConnection } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { nextEvent } from '../../support/clients.js';
import { temporaryFolder } from '../../support/folder.js';
import { answerTo, ask, get } from './support/requests.js';
import { classes, client, closeAll, closed, closeLater, run } from './support/servers.js';

afterEach(closeAll);

describe.each(classes)('the port of an HTTP server with %s', (_name, Server) => {
  test('is known at once where it was left to the system, and answers in the same turn', async () => {
    const http = closeLater(createServer((_message, response) => response.end('fine')));
    closeLater(new Server(http));
    expect(http.address()).toBeNull();
    expect(http.listen(0)).toBe(http);
    expect(http.listening).toBe(true);
    const { port, address } = http.address() as AddressInfo;
    expect(['::', '0.0.0.0']).toContain(address);
    expect((await get(port)).body).toBe('fine');
  });

  test('may be given as text, with a host name, and a callback', async () => {
    const http = closeLater(createServer((_message, response) => response.end('fine')));
    closeLater(new Server(http));
    await new Promise<void>((resolve) => http.listen('0' as unknown as number, 'localhost', resolve));
    const { port, address } = http.address() as AddressInfo;
    expect((await answerTo(ask(port, { host: address }))).body).toBe('fine');
  });

  test('may be listened on before the server is made', async () => {
    const http = closeLater(createServer((_message, response) => response.end('fine')).listen(0, '127.0.0.1'));
    await once(http, 'listening');
    const { port } = http.address() as AddressInfo;
    const before = createConnection(port, '127.0.0.1');
    await once(http, 'connection');
    const io = closeLater(new Server(http));
    expect(http.address()).toMatchObject({ port });
    io.on('connection', (socket) => socket.emit('hello'));
    expect((await get(port)).body).toBe('fine');
    await nextEvent(client(`http://127.0.0.1:${port}`), 'hello');
    // A connection from before goes on.
    before.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    let text = '';
    for await (const part of before) text += part;
    expect(text).toMatch(/200 OK[\s\S]*fine/);
  });

  test('is not shared: the second server is told that it is taken', async () => {
    const { port } = await run(Server);
    for (const second of [createServer(), createServer()]) {
      closeLater(new Server(second));
      second.listen(port, '127.0.0.1', () => expect('listening').toBe('never'));
      const [error] = await once(second, 'error');
      expect(error).toMatchObject({ code: 'EADDRINUSE', syscall: 'listen', address: '127.0.0.1', port });
      expect(second.listening).toBe(false);
    }
  });

  test('counts its connections, and rejects those beyond `maxConnections`', async () => {
    const { http, port } = await run(Server);
    http.maxConnections = 1;
    const first = createConnection(port, '127.0.0.1');
    await once(first, 'connect');
    const second = createConnection(port, '127.0.0.1').on('error', () => {});
    await once(second, 'close');
    expect(await new Promise((resolve) => http.getConnections((_error, count) => resolve(count)))).toBe(1);
    first.destroy();
  });

  test('does not keep the process running after `unref()` before `listen()`', async () => {
    const http = createServer().unref();
    closeLater(new Server(http));
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    expect((http as unknown as { _handle: { hasRef(): boolean } })._handle.hasRef()).toBe(false);
  });

  test('cannot be listened on twice', async () => {
    const { http } = await run(Server);
    expect(() => http.listen(0)).toThrow(expect.objectContaining({ code: 'ERR_SERVER_ALREADY_LISTEN' }));
  });

  test('is free once the server is closed, and can be listened on again', async () => {
    const { http, io, port, url } = await run(Server, (_message, response) => response.end('fine'));
    await closed(http);
    expect(http.listening).toBe(false);
    expect(http.address()).toBeNull();
    const [error] = await nextEvent<[NodeJS.ErrnoException]>(ask(port).end(), 'error');
    expect(error.code).toBe('ECONNREFUSED');
    http.listen(port, '127.0.0.1');
    await once(http, 'listening');
    expect((await get(port)).body).toBe('fine');
    io.on('connection', (socket) => socket.emit('hello'));
    await nextEvent(client(url), 'hello');
  });

  test('is closed once what is in progress is answered', async () => {
    const { http, port } = await run(Server, undefined, { portOwner: 'node' });
    const received = once(http, 'request');
    const answer = get(port);
    const [, response] = await received;
    let isClosed = false;
    const closing = closed(http).then(() => {
      isClosed = true;
    });
    expect((await nextEvent<[NodeJS.ErrnoException]>(ask(port).end(), 'error'))[0].code).toBe('ECONNREFUSED');
    expect(isClosed).toBe(false);
    response.end('answered');
    expect((await answer).body).toBe('answered');
    await closing;
  });

  test('is closed by the Socket.IO server, with all its clients', async () => {
    const { http, io, url } = await run(Server);
    const clients = [client(url, { transports: ['websocket'] }), client(url, { transports: ['polling'] })];
    await Promise.all(clients.map((one) => nextEvent(one, 'connect')));
    const gone = Promise.all(clients.map((one) => nextEvent(one, 'disconnect')));
    const emitted = once(http, 'close');
    expect(io.httpServer).toBe(http);
    await io.close();
    await Promise.all([gone, emitted]);
    expect(http.listening).toBe(false);
  });

  test('need never be listened on', async () => {
    const http = createServer();
    const io = new Server(http);
    expect(http.listening).toBe(false);
    expect(io.httpServer).toBe(http);
  });

  test.each([
    ['new Server(port)', (port: number) => new Server(port)],
    ['listen(port)', (port: number) => new Server().listen(port)],
    ['attach(port as text)', (port: number) => new Server().attach(String(port) as unknown as number)],
  ])('may be opened by %s', async (_how, open) => {
    const io = closeLater(open(0));
    const http = io.httpServer as ReturnType<typeof createServer>;
    if (!http.listening) await once(http, 'listening');
    const { port } = http.address() as AddressInfo;
    expect((await get(port, '/', { host: 'localhost' })).status).toBe(404);
    await nextEvent(client(`http://localhost:${port}`), 'connect');
  });

  test('may be a Unix socket', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'socket');
    const { http } = await run(Server, (_message, response) => response.end('fine'), {}, { path });
    expect(http.address()).toBe(path);
    expect((await answerTo(request({ socketPath: path }))).body).toBe('fine');
    const handshake = await answerTo(request({ socketPath: path, path: '/socket.io/?EIO=4&transport=polling' }));
    expect(handshake.body).toMatch(/^0\{"sid"/);
    await closed(http);
  });
});
