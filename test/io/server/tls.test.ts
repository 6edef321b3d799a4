import { once } from 'node:events';
import { connect as connectHttp2, createSecureServer } from 'node:http2';
import { createServer, type RequestOptions, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { afterEach, describe, expect, test } from '@jest/globals';
import { nextEvent } from '../../support/clients.js';
import { pemOf } from '../../support/pem.js';
import { answerTo } from './support/requests.js';
import { classes, client, closeAll, closeLater } from './support/servers.js';

const server = pemOf('localhost');
const visitor = pemOf('visitor');

afterEach(closeAll);

describe.each(classes)('an HTTPS server with %s', (_name, Server) => {
  test('knows its clients by their certificates, over polling and WebSockets', async () => {
    const http = createServer({ ...server, ca: visitor.cert, requestCert: true }, (message, response) => {
      const socket = message.socket as TLSSocket;
      response.end(`${socket.authorized} ${socket.getPeerCertificate().subject?.CN} ${socket.encrypted}`);
    });
    const io = closeLater(new Server(http));
    // A connection that polling came over may have ended by the time that the client is connected.
    io.engine.use((message: { socket: TLSSocket; name?: unknown }, _response: unknown, next: () => void) => {
      message.name ??= message.socket.getPeerCertificate().subject.CN;
      next();
    });
    io.on('connection', (socket) => {
      const { name } = socket.request as unknown as { name: string };
      socket.emit('name', name, socket.handshake.secure, socket.handshake.address);
      socket.join(['all', socket.id]);
      socket.on('say', (text) => io.to('all').emit('said', text));
    });
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    const { port } = http.address() as AddressInfo;
    const options: RequestOptions = { host: '127.0.0.1', port, ...visitor, rejectUnauthorized: false, agent: false };
    expect((await answerTo(request(options))).body).toBe('true visitor true');
    const clients = [['polling'], ['websocket'], ['polling', 'websocket'], ['websocket']].map((transports) =>
      client(`https://127.0.0.1:${port}`, { transports, ...visitor, rejectUnauthorized: false } as object),
    );
    const names = await Promise.all(clients.map((one) => nextEvent(one, 'name')));
    expect(names).toEqual(clients.map(() => ['visitor', true, '127.0.0.1']));
    const heard = Promise.all(clients.map((one) => nextEvent(one, 'said')));
    clients[1]!.emit('say', 'x'.repeat(100_000));
    expect((await heard).map(([text]) => String(text).length)).toEqual(clients.map(() => 100_000));
    const inside = io.sockets.sockets.get(clients[1]!.id!)!;
    expect((inside.request.socket as TLSSocket).getPeerCertificate().subject.CN).toBe('visitor');
    const gone = once(inside.conn, 'close');
    clients[1]!.disconnect();
    await gone;
  });

  test('has certificates for several names', async () => {
    const http = createServer(server, (_message, response) => response.end('fine'));
    http.addContext('other.example', pemOf('other.example'));
    closeLater(new Server(http));
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    const { port } = http.address() as AddressInfo;
    for (const [servername, name] of [
      ['other.example', 'other.example'],
      ['localhost', 'localhost'],
    ]) {
      const sent = request({ host: '127.0.0.1', port, servername, rejectUnauthorized: false, agent: false });
      const connected = once(sent, 'socket').then(async ([socket]) => {
        await once(socket, 'secureConnect');
        return (socket as TLSSocket).getPeerCertificate().subject.CN;
      });
      await answerTo(sent);
      expect(await connected).toBe(name);
    }
  });

  test('serves no request behind an upgrade that it rejects', async () => {
    const http = createServer(server);
    const io = closeLater(new Server(http));
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    const { port } = http.address() as AddressInfo;
    const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
    let received = '';
    socket.on('data', (part) => {
      received += part;
    });
    // Stock may have closed the connection before the second request is written.
    socket.on('error', () => {});
    const ended = new Promise((resolve) => socket.once('close', resolve));
    const head = (query: string, more = '') => `GET /socket.io/?${query} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`;
    const upgrade =
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OTAxMjM0NQ==\r\n';
    socket.write(head('EIO=4&transport=unknown', upgrade));
    await once(socket, 'data');
    socket.write(head('EIO=4&transport=polling'));
    await ended;
    expect(received).toMatch(/^HTTP\/1\.1 400 /);
    expect(received).not.toContain('"sid"');
    expect(io.engine.clientsCount).toBe(0);
    await nextEvent(client(`https://127.0.0.1:${port}`, { rejectUnauthorized: false }), 'connect');
  });

  test('may speak HTTP/2', async () => {
    const http = createSecureServer({ ...server, allowHTTP1: true });
    const io = closeLater(new Server(http));
    const address = new Promise((resolve) => io.on('connection', ({ handshake }) => resolve(handshake.address)));
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    const { port } = http.address() as AddressInfo;
    const accepted = once(http, 'session');
    const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    const ask = async (method: string, query: string, body?: string) => {
      const stream = session.request({ ':method': method, ':path': `/socket.io/?EIO=4&transport=polling${query}` });
      stream.end(body);
      const [{ ':status': status }] = (await once(stream, 'response')) as [Record<string, unknown>];
      let text = '';
      for await (const part of stream) text += part;
      return [status, text] as const;
    };
    const [, open] = await ask('GET', '');
    const { sid } = JSON.parse(open.slice(1)) as { sid: string };
    expect(await ask('POST', `&sid=${sid}`, '40')).toEqual([200, 'ok']);
    expect(await address).toBe('127.0.0.1');
    expect((await ask('GET', `&sid=${sid}`))[1]).toMatch(/^40/);
    expect(await ask('POST', `&sid=${sid}`, 'x'.repeat(1_500_000))).toEqual([413, '']);
    // Stock engine.io leaves the stream of a body that is too long open.
    for (const end of [session, ...(await accepted)]) end.destroy();
  });
});
