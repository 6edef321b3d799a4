import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from '@jest/globals';
import express from 'express';
import session from 'express-session';
import fastify from 'fastify';
import Koa from 'koa';
import passport from 'passport';
import { nextEvent } from '../../support/clients.js';
import { answerTo, ask, get } from './support/requests.js';
import { classes, client, closeAll, closeLater, run } from './support/servers.js';

// The same types: what is used here is in both.
const express4 = createRequire(import.meta.url)('express4') as typeof express;

afterEach(closeAll);

describe.each(classes)('beside %s', (_name, Server) => {
  test.each([
    ['4', express4],
    ['5', express],
  ])('Express %s runs', async (_version, make) => {
    const app = make();
    app.use(make.json({ limit: '5mb' }));
    app.get('/ip', (request, response) => {
      response.cookie('a', '1').json({ ip: request.ip, protocol: request.protocol, host: request.hostname });
    });
    app.post('/echo', (request, response) => void response.status(201).send(request.body));
    app.get('/file', (_request, response) =>
      response.sendFile(fileURLToPath(new URL('../../../package.json', import.meta.url))),
    );
    app.use('/static', make.static(fileURLToPath(new URL('../../../public', import.meta.url))));
    const { port, url } = await run(Server, app as unknown as RequestListener);
    expect(JSON.parse((await get(port, '/ip')).body)).toEqual({ ip: '127.0.0.1', protocol: 'http', host: '127.0.0.1' });
    const text = JSON.stringify({ long: 'x'.repeat(1_000_000) });
    const sent = ask(port, { method: 'POST', path: '/echo', headers: { 'content-type': 'application/json' } });
    const echoed = await answerTo(sent, text);
    expect([echoed.status, echoed.body.length]).toEqual([201, text.length]);
    expect(JSON.parse((await get(port, '/file')).body).name).toBe('gjallar');
    const range = await get(port, '/static/gjallar-client.js', { headers: { range: 'bytes=0-9' } });
    expect([range.status, range.body.length, range.headers['content-length']]).toEqual([206, 10, '10']);
    const { etag } = range.headers;
    const known = await get(port, '/static/gjallar-client.js', { headers: { 'if-none-match': etag } });
    expect([known.status, known.body]).toEqual([304, '']);
    expect((await get(port, '/nothing')).status).toBe(404);
    await nextEvent(client(url), 'connect');
  });

  test('Express listens before the Socket.IO server is made', async () => {
    const app = express();
    app.get('/', (_request, response) => void response.send('fine'));
    const http = closeLater(app.listen(0, '127.0.0.1'));
    const io = closeLater(new Server(http));
    await once(http, 'listening');
    const { port } = http.address() as AddressInfo;
    expect((await get(port)).body).toBe('fine');
    io.on('connection', (socket) => socket.emit('hello'));
    await nextEvent(client(`http://127.0.0.1:${port}`), 'hello');
  });

  test('Fastify runs', async () => {
    const app = fastify();
    app.get('/', async (request) => ({ ip: request.ip }));
    app.post('/', async (request) => request.body);
    const io = closeLater(new Server(app.server));
    await app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = app.server.address() as AddressInfo;
    expect(JSON.parse((await get(port)).body)).toEqual({ ip: '127.0.0.1' });
    const sent = ask(port, { method: 'POST', headers: { 'content-type': 'application/json' } });
    expect((await answerTo(sent, '{"a":1}')).body).toBe('{"a":1}');
    io.on('connection', (socket) => socket.emit('hello'));
    await nextEvent(client(`http://127.0.0.1:${port}`), 'hello');
    await io.close();
    await app.close();
  });

  test('Koa runs', async () => {
    const app = new Koa();
    app.use((context) => {
      context.body = { ip: context.ip, path: context.path };
    });
    const { port, url } = await run(Server, app.callback());
    expect(JSON.parse((await get(port, '/x')).body)).toEqual({ ip: '127.0.0.1', path: '/x' });
    await nextEvent(client(url), 'connect');
  });

  test.each([[['polling']], [['websocket']]])(
    'sessions and users are shared with sockets on %s',
    async (transports) => {
      const sessions = session({ secret: 'x', resave: false, saveUninitialized: false });
      const passports = new passport.Passport();
      passports.serializeUser<string>((user, done) => done(null, (user as { name: string }).name));
      passports.deserializeUser<string>((name, done) => done(null, { name }));
      class ByQuery extends passport.Strategy {
        override name = 'query';
        override authenticate(this: passport.StrategyCreated<ByQuery>, request: express.Request): void {
          this.success({ name: request.query.name });
        }
      }
      passports.use(new ByQuery());
      const app = express();
      app.use(sessions, passports.initialize(), passports.session());
      app.get(
        '/login',
        passports.authenticate('query') as express.RequestHandler,
        (_request, response) => void response.end(),
      );
      app.get('/count', (request, response) => {
        response.json({ count: (request.session as { count?: number }).count, user: request.user });
      });
      const http = createServer(app);
      const io = closeLater(new Server(http));
      io.engine.use(sessions);
      io.engine.use(passports.initialize());
      io.engine.use(passports.session());
      io.on('connection', (socket) => {
        const request = socket.request as unknown as express.Request & { session: { count?: number } };
        socket.on('count', (done) => {
          request.session.reload(() => {
            request.session.count = (request.session.count ?? 0) + 1;
            request.session.save(() => done(request.user, request.session.count, request.isAuthenticated()));
          });
        });
      });
      http.listen(0, '127.0.0.1');
      await once(http, 'listening');
      const { port } = http.address() as AddressInfo;
      const { headers } = await get(port, '/login?name=ada');
      const cookie = headers['set-cookie']![0]!.split(';')[0]!;
      const one = client(`http://127.0.0.1:${port}`, { transports, extraHeaders: { cookie } } as object);
      await nextEvent(one, 'connect');
      const counted = await new Promise((resolve) => one.emit('count', (...values: unknown[]) => resolve(values)));
      expect(counted).toEqual([{ name: 'ada' }, 1, true]);
      const answer = await get(port, '/count', { headers: { cookie } });
      expect(JSON.parse(answer.body)).toEqual({ count: 1, user: { name: 'ada' } });
    },
  );
});
