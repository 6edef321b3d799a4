import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from '@jest/globals';
import express from 'express';
import Koa from 'koa';
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

  test('Koa runs', async () => {
    const app = new Koa();
    app.use((context) => {
      context.body = { ip: context.ip, path: context.path };
    });
    const { port, url } = await run(Server, app.callback());
    expect(JSON.parse((await get(port, '/x')).body)).toEqual({ ip: '127.0.0.1', path: '/x' });
    await nextEvent(client(url), 'connect');
  });
});
