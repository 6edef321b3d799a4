// The applications of the matrix, and the traffic that `gjallar compare` sends to each.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folderOf = (path) => fileURLToPath(new URL(path, import.meta.url));

/**
 * @typedef {object} Application
 * @property {string} about
 * @property {string} file what Node.js runs, in `apps/`, or in the folder of `from`
 * @property {string[][]} calls of `gjallar compare`, each with its options
 * @property {string} [state] why it is not compared on several workers
 * @property {Talk} [talk] what clients do while it is reloaded; without it, it is not
 * @property {Record<string, string>} [env]
 * @property {string} [version] of what it is about: it is of other people, and in the gallery
 * @property {{ folder: string, packages: string[], build?: string[], isModule?: boolean }} [from] exact versions of its packages,
 *   which npm fetches into a copy of the folder; `build` are programs of packages with arguments
 */

/** @typedef {{ first?: string[], say: string[] }} Talk events: one with an acknowledgement, and one that says a text to all */

const get = (...paths) => paths.map((path) => `--get ${path}`);

/** What users of apps/chat.cjs do. What is in `more` comes before they leave. */
const talk = (...more) => [
  '--auth {"token":"right"}',
  '--ask echo,"text",7,{"deep":[null,"ö"]}',
  '--ask bytes,4',
  '--ask join,"room"',
  '--ask ask,"room"',
  '--emit say,"room","to all"',
  '--emit say to others,"room","to the others"',
  '--ask about',
  ...more,
  '--emit leave,true',
];
/** The same while it is reloaded. @type {Talk} */
const inRoom = { first: ['join', 'room'], say: ['say', 'room'] };

/** A request that compare does not send itself, by apps/chat.cjs. */
const fetched = (method, path, headers = {}, body = null) =>
  `--ask fetch,${[method, path, headers, body].map((value) => JSON.stringify(value)).join()}`;
const json = { 'content-type': 'application/json' };

/** The requests that applications with routes answer. */
const requests = [
  ...get('/about?a=1&b=%C3%B6', '/broken', '/missing'),
  fetched('HEAD', '/about'),
  fetched('OPTIONS', '/about'),
  fetched('POST', '/echo', json, '{"a":[1,"ö"]}'),
  fetched('POST', '/echo', json, 1_000_000),
  fetched('POST', '/echo', json, '{"a":'),
];

const application = (file, about, call, more) => ({ file, about, calls: [call], ...more });
const simple = (file, about, more) => application(file, about, talk(...get('/')), more);
const express = (version, name) => {
  const more = [
    ...get('/stream', '/moved', '/page'),
    fetched('GET', '/about', { 'x-forwarded-for': '192.0.2.7', 'x-forwarded-proto': 'https' }),
    fetched('GET', '/page', { range: 'bytes=0-13' }),
    fetched('OPTIONS', '/socket.io/?EIO=4&transport=polling', { origin: 'https://example.com' }),
  ];
  const about = `Express ${version}: routes, JSON, cookies, streams, CORS`;
  return application('express.cjs', about, talk(...requests, ...more), { env: { EXPRESS: name } });
};
const files = talk(
  ...get('/chat.cjs', '/missing', '/%2e%2e/applications.js'),
  fetched('GET', '/chat.cjs', { range: 'bytes=5-20' }),
  fetched('GET', '/chat.cjs', { range: 'bytes=999999-' }),
);
const next = JSON.parse(readFileSync(folderOf('../../examples/next/package.json'), 'utf8')).dependencies;

/** @type {Record<string, Application>} */
const own = {
  'express-4': express(4, 'express4'),
  'express-5': express(5, 'express'),
  fastify: application('fastify.cjs', 'Fastify 5: routes, JSON, errors', talk(...requests), { talk: inRoom }),
  koa: application('koa.cjs', 'Koa 3: routes, cookies, errors', talk(...requests), { talk: inRoom }),
  'serve-static': application('serve-static.cjs', 'serve-static: files, ranges, what is missing', files),
  helmet: application(
    'helmet.cjs',
    'helmet, for Express and for io.engine.use()',
    talk(...get('/about', '/socket.io/socket.io.min.js')),
  ),
  'express-session': application(
    'express-session.cjs',
    'express-session, shared by routes and sockets',
    [...get('/count'), '--ask count', '--ask count'],
    { state: 'keeps sessions' },
  ),
  'two-servers': application(
    'two-servers.cjs',
    'two Socket.IO servers on one http server',
    talk(...get('/', '/socket.io/socket.io.js')),
  ),
  options: application('options.mjs', 'options of Server, in an ES module', [
    ...['--path /live', '--get /missing', '--ask echo,1'],
  ]),
  'listens-twice': simple('listens-twice.cjs', 'the http server listens twice'),
  'unix-socket': simple('unix-socket.cjs', 'a Unix socket behind a proxy', { state: 'makes a socket for each worker' }),
  'port-0': simple('port-0.cjs', 'port 0', { state: 'has a port of its own' }),
  'already-listening': simple('already-listening.cjs', 'the http server listens before Server is made'),
  'next-example': application(
    'server.js',
    'examples/next: Next.js built and started, with Socket.IO on its port',
    [...get('/', '/missing'), '--emit say,"from a client"'],
    {
      talk: { say: ['say'] },
      env: { NODE_ENV: 'production' },
      from: {
        folder: folderOf('../../examples/next'),
        isModule: true,
        packages: Object.entries(next).flatMap(([name, version]) => (name === 'gjallar' ? [] : [`${name}@${version}`])),
        build: ['next build'],
      },
    },
  ),
};

const io = 'socket.io@4.8.4';

/** An application of other people: its folder in `gallery/`, the version that it is about, and its packages. */
const fetchedFrom = (name, version, about, packages, calls, { build, isModule, ...more } = {}) => {
  const from = { folder: folderOf(`gallery/${name}`), packages: packages.split(' '), build, isModule };
  return { version, from, file: 'server.cjs', about, calls, ...more };
};

/** @type {Record<string, Application>} */
const gallery = {
  feathers: fetchedFrom(
    'feathers',
    '5.0.50',
    'Feathers on Koa: services over HTTP and sockets, errors, channels',
    '@feathersjs/feathers@5.0.50 @feathersjs/koa@5.0.50 @feathersjs/socketio@5.0.50',
    [
      talk(
        ...get('/messages?a=1', '/messages/7'),
        '--ask create,"messages",{"text":" hello "}',
        '--ask find,"messages",{"b":2}',
        '--ask find,"nothing",{}',
        fetched('POST', '/messages', json, '{"text":" x "}'),
      ),
    ],
    { state: 'channels of one process' },
  ),
  sveltekit: fetchedFrom(
    'sveltekit',
    '2.70.4',
    'SvelteKit with its adapter for Node.js: a page, an upload, and Socket.IO on their port',
    `${io} @sveltejs/kit@2.70.4 @sveltejs/adapter-node@5.5.7 @sveltejs/vite-plugin-svelte@6.2.3 svelte@5.57.3 vite@7.3.8`,
    [
      talk(
        ...get('/?name=ada', '/missing'),
        fetched('POST', '/upload', { 'content-type': 'application/octet-stream' }, 100_000),
      ),
    ],
    { file: 'server.mjs', isModule: true, build: ['svelte-kit sync', 'vite build'], talk: inRoom },
  ),
  vite: fetchedFrom(
    'vite',
    '7.3.8',
    "Vite's dev server in middleware mode: pages, modules, and hot updates over its WebSocket on one port",
    `${io} vite@7.3.8 ws@8.18.3`,
    [talk(...get('/', '/main.js', '/missing.js'), '--ask hot')],
    { file: 'server.mjs', isModule: true, state: 'watches the files itself', talk: inRoom },
  ),
};

export const applications = { ...own, ...gallery };
