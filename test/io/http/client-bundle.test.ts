import { readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { CorsOptions, CorsOptionsDelegate } from 'cors';
import { Server } from 'socket.io';
import { io } from 'socket.io-client';
import { App, us_listen_socket_close, us_socket_local_port } from '../../../src/engine/sockets.js';
import { createAdapter, Engine, Server as GjallarServer, serveClient } from '../../../src/index.js';
import { upgraded } from '../../support/clients.js';

const require = createRequire(import.meta.url);
const app = App();
let url: string;
let close: () => void;

beforeAll(async () => {
  const engine = new Engine().attach(app, { path: '/live' });
  const server = new Server({ adapter: createAdapter(engine) }).bind(engine);
  serveClient(app, { path: '/live', origins: ['https://app.example'] });
  await new Promise<void>((resolve) => {
    app.listen('127.0.0.1', 0, (socket) => {
      if (!socket) throw new Error('cannot listen');
      url = `http://127.0.0.1:${us_socket_local_port(socket)}`;
      close = () => {
        us_listen_socket_close(socket);
        server.close();
        app.close();
      };
      resolve();
    });
  });
});
afterAll(() => close());

test.each(['socket.io.js', 'socket.io.min.js', 'socket.io.esm.min.js', 'socket.io.min.js.map'])(
  'an application on the library serves %s as socket.io does',
  async (name) => {
    const response = await fetch(`${url}/live/${name}`, { headers: { Origin: 'https://app.example' } });
    expect(response.status).toBe(200);
    expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example');
    const file = require.resolve('socket.io/package.json').replace('package.json', `client-dist/${name}`);
    expect(await response.text()).toBe(readFileSync(file, 'utf8'));
    const { status } = await fetch(`${url}/live/${name}`, {
      headers: { 'If-None-Match': response.headers.get('etag')! },
    });
    expect(status).toBe(304);
  },
);

const publicFile = (name: string) => readFileSync(new URL(`../../../public/${name}`, import.meta.url), 'utf8');
const helper = publicFile('gjallar-client.js');

test('the declarations of the helper name what it exports', async () => {
  const exported: object = await import('../../../public/gjallar-client.js');
  const declared = publicFile('gjallar-client.d.ts')
    .split(/^export class /m)
    .slice(1);
  const nameOf = (text: string) => /^\w+/.exec(text)![0];
  expect(declared.map(nameOf).sort()).toEqual(Object.keys(exported).sort());
  for (const text of declared) {
    const { prototype } = (exported as Record<string, { prototype: object }>)[nameOf(text)]!;
    const [body] = text.split(/^}/m, 1);
    for (const [, method] of body!.matchAll(/^ {2}(?:get )?(?!constructor)(\w+)[(<]/gm))
      expect(method! in prototype).toBe(true);
  }
});

test('the helper for clients is beside the bundle, on an app and on an http.Server', async () => {
  const ofApp = await fetch(`${url}/live/gjallar-client.js`, { headers: { Origin: 'https://app.example' } });
  expect(ofApp.headers.get('access-control-allow-origin')).toBe('https://app.example');
  expect(await ofApp.text()).toBe(helper);
  for (const [, name] of helper.matchAll(/from '\.\/(.*)'/g))
    expect((await fetch(`${url}/live/${name}`)).status).toBe(200);
  // Connections that are kept would hold up the end of each server.
  const close = { headers: { connection: 'close' } };
  for (const [handler, options, status] of [
    [undefined, {}, 200],
    [(_: unknown, response: ServerResponse) => response.end('application'), {}, 200],
    [(_: unknown, response: ServerResponse) => response.end('application'), { serveClient: false }, 400],
  ] as const) {
    const http = createServer(handler);
    const server = new GjallarServer(http, options);
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    const base = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    const response = await fetch(`${base}/socket.io/gjallar-client.js?v=1`, close);
    expect(response.status).toBe(status);
    const text = await response.text();
    if (status === 200)
      expect([text, response.headers.get('content-type')]).toEqual([helper, expect.stringMatching('javascript')]);
    if (status === 200) expect((await fetch(`${base}/socket.io/socket.io.js`, close)).status).toBe(200);
    await server.close();
  }
});

const PAGE = 'https://app.example';
type Origin = NonNullable<CorsOptions['origin']>;
const allows: [string, CorsOptions | CorsOptionsDelegate][] = [
  ['nothing but the defaults', {}],
  ['true', { origin: true, credentials: true }],
  ['a pattern', { origin: /\.example$/ }],
  ['a list', { origin: ['https://other.example', PAGE], credentials: true, exposedHeaders: 'ETag' }],
  ['another origin', { origin: 'https://other.example' }],
  ['a function', { origin: ((_origin, done) => setImmediate(done, null, true)) as Origin }],
  ['a delegate', (request, done) => done(null, { origin: request.headers.origin === PAGE })],
];

test.each(allows)('pages of other origins may load the bundle as with socket.io: %s', async (_name, cors) => {
  const names = ['allow-origin', 'allow-credentials', 'expose-headers'];
  const load = async (server: Server, file: string) => {
    const http = createServer();
    server.attach(http);
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    const { port } = http.address() as AddressInfo;
    const answers = [];
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await fetch(`http://127.0.0.1:${port}/socket.io/${file}`, {
        ...{ method, headers: { Origin: PAGE, connection: 'close' } },
      });
      const varies = /\bOrigin\b/.test(headers.get('vary') ?? '');
      answers.push([status, varies, ...names.map((name) => headers.get(`access-control-${name}`))]);
    }
    await server.close();
    return answers;
  };
  const stock = await load(new Server({ cors }), 'socket.io.esm.min.js');
  for (const portOwner of ['auto', 'node'] as const) {
    for (const file of ['socket.io.esm.min.js', 'gjallar-client.js'])
      expect(await load(new GjallarServer({ cors, portOwner }), file)).toEqual(stock);
  }
});

test('beside its engine', async () => {
  const socket = io(url, { path: '/live', forceNew: true });
  // A disconnect over polling would end after the test.
  await upgraded(socket);
  socket.disconnect();
});
