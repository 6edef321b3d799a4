import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Server } from 'socket.io';
import { pass } from '../../../support/until.js';

export const LARGE = 5_000_000;

type Handler = (message: IncomingMessage, response: ServerResponse) => unknown;

/** An application as teams have it: routes, uploads, downloads, streams, and Socket.IO beside them. */
export const routes: Record<string, Handler> = {
  '/text': (_message, response) => response.end('text'),
  '/json': (_message, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ a: [1, 'é'] }));
  },
  '/later': async (_message, response) => {
    await pass(20);
    response.end('later');
  },
  '/hash': async (message, response) => {
    const hash = createHash('sha1');
    for await (const part of message) hash.update(part as Buffer);
    response.end(hash.digest('hex'));
  },
  '/slow-hash': async (message, response) => {
    const hash = createHash('sha1');
    for await (const part of message) {
      hash.update(part as Buffer);
      await nextTurn();
    }
    response.end(hash.digest('hex'));
  },
  '/echo': (message, response) => message.pipe(response),
  '/refuse': (_message, response) => response.writeHead(413).end('too large'),
  '/trailers': async (message, response) => {
    message.resume();
    await once(message, 'end');
    response.end(JSON.stringify(message.trailers));
  },
  '/send-trailers': (_message, response) => {
    response.writeHead(200, { trailer: 'x-sum' });
    response.write('body');
    response.addTrailers({ 'x-sum': '42' });
    response.end();
  },
  '/hints': (_message, response) => {
    response.writeEarlyHints({ link: '</a.css>; rel=preload' }, () => pass(20).then(() => response.end('hinted')));
  },
  '/headers': (message, response) => response.end(String(message.rawHeaders.length / 2)),
  '/host': (message, response) => response.end(message.headers.host),
  '/method': (message, response) => response.end(message.method),
  '/url?a=%20b&c': (message, response) => response.end(message.url),
  '/cookies': (message, response) => {
    response.setHeader('set-cookie', ['a=1; Path=/', 'b=2']);
    response.end(message.headers.cookie);
  },
  '/latin': (_message, response) => {
    response.setHeader('x-latin', 'é');
    response.end();
  },
  '/no-content': (_message, response) => response.writeHead(204).end(),
  '/not-modified': (_message, response) => response.writeHead(304, { etag: '"a"' }).end(),
  '/message': (_message, response) => response.writeHead(299, 'Quite Fine').end(),
  '/large': (_message, response) => {
    response.setHeader('content-length', LARGE);
    response.end(Buffer.alloc(LARGE, 'x'));
  },
  '/chunks': async (_message, response) => {
    for (let part = 0; part < 50; part++) {
      if (!response.write(Buffer.alloc(LARGE / 50, 'x'))) await once(response, 'drain');
    }
    response.end();
  },
  '/events': (_message, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: 1\n\n');
    void pass(20).then(() => response.end('data: 2\n\n'));
  },
  '/close': (_message, response) => response.setHeader('connection', 'close').end('bye'),
  '/redirect': (_message, response) => response.writeHead(302, { location: '/text' }).end(),
  '/address': (message, response) => response.end(`${message.socket.remoteAddress} ${message.socket.localPort}`),
  '/binary': (_message, response) => response.end(Buffer.from([0, 255, 13, 10, 128])),
};

export function listener(message: IncomingMessage, response: ServerResponse): void {
  const handler = routes[message.url!] ?? ((_message, other) => other.writeHead(404).end('not found'));
  Promise.resolve(handler(message, response)).catch(() => response.destroy());
}

export function serve(io: Server): void {
  io.on('connection', (socket) => {
    socket.on('echo', (value, reply) => reply(value));
    socket.on('join', (room) => socket.join(room));
    socket.on('say', (room, text) => io.to(room).emit('said', text));
  });
}
