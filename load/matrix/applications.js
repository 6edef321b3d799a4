// The applications of the matrix, and the traffic that `gjallar compare` sends to each.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folderOf = (path) => fileURLToPath(new URL(path, import.meta.url));

/**
 * @typedef {object} Part one call of `gjallar compare`
 * @property {string} [namespace]
 * @property {string[]} [get] paths
 * @property {[option: 'ask' | 'emit', event: string][]} [events] in order
 * @property {object} [auth]
 * @property {string[]} [headers] of the clients
 *
 * @typedef {object} Application
 * @property {string} about
 * @property {string} file what Node.js runs, in `apps/`, or in the folder of `from`
 * @property {Part[]} parts
 * @property {string} [state] why it is not compared on several workers
 * @property {string} [path] of Socket.IO, if it is not the default
 * @property {Record<string, string>} [env]
 * @property {string} [version] of what it is about
 * @property {{ folder: string, packages: Record<string, string>, build?: string[][], isModule?: boolean }} [from] exact
 *   versions of its packages, which npm fetches into a copy of the folder; `build` are programs of packages with arguments
 */

const right = { token: 'right' };

/** What users of apps/chat.cjs do. The events in `more` come before they leave. */
function talk(get = [], { more = [], ...part } = {}) {
  const events = [
    ['ask', 'echo,"text",7,{"deep":[null,"ö"]}'],
    ['ask', 'bytes,4'],
    ['ask', 'join,"room"'],
    ['ask', 'ask,"room"'],
    ['emit', 'say,"room","to all"'],
    ['emit', 'say to others,"room","to the others"'],
    ['ask', 'about'],
    ...more,
    ['emit', 'leave,true'],
  ];
  return { get, events, auth: right, ...part };
}

const fetched = (method, path, headers = {}, body = null) => [
  'ask',
  `fetch,${[method, path, headers, body].map((value) => JSON.stringify(value)).join()}`,
];
const json = { 'content-type': 'application/json' };

/** The requests that applications with routes answer. */
const routes = ['/about?a=1&b=%C3%B6', '/broken', '/missing'];
const requests = [
  fetched('HEAD', '/about'),
  fetched('OPTIONS', '/about'),
  fetched('POST', '/echo', json, '{"a":[1,"ö"]}'),
  fetched('POST', '/echo', json, 1_000_000),
  fetched('POST', '/echo', json, '{"a":'),
];

const served = (file, about) => ({ file, about, parts: [talk(routes, { more: requests })] });
const express = (version) => ({
  file: 'express.cjs',
  about: `Express ${version}: routes, JSON, cookies, streams, CORS`,
  env: { EXPRESS: version === 4 ? 'express4' : 'express' },
  parts: [
    talk([...routes, '/stream', '/moved', '/page'], {
      more: [
        ...requests,
        fetched('GET', '/about', { 'x-forwarded-for': '192.0.2.7', 'x-forwarded-proto': 'https' }),
        fetched('GET', '/page', { range: 'bytes=0-13' }),
        fetched('OPTIONS', '/socket.io/?EIO=4&transport=polling', { origin: 'https://example.com' }),
      ],
    }),
  ],
});
const simple = (file, about, more) => ({ file, about, parts: [talk(['/'])], ...more });

/** @type {Record<string, Application>} */
export const applications = {
  'express-4': express(4),
  'express-5': express(5),
  fastify: served('fastify.cjs', 'Fastify 5: routes, JSON, errors'),
  koa: served('koa.cjs', 'Koa 3: routes, cookies, errors'),
  'serve-static': {
    file: 'serve-static.cjs',
    about: 'serve-static: files, ranges, what is missing',
    parts: [
      talk(['/chat.cjs', '/missing', '/%2e%2e/compare.js'], {
        more: [
          fetched('GET', '/chat.cjs', { range: 'bytes=5-20' }),
          fetched('GET', '/chat.cjs', { range: 'bytes=999999-' }),
        ],
      }),
    ],
  },
  helmet: {
    file: 'helmet.cjs',
    about: 'helmet, for Express and for io.engine.use()',
    parts: [talk(['/about', '/socket.io/socket.io.min.js'])],
  },
  'express-session': {
    file: 'express-session.cjs',
    about: 'express-session, shared by routes and sockets',
    state: 'keeps sessions',
    parts: [
      {
        get: ['/count'],
        events: [
          ['ask', 'count'],
          ['ask', 'count'],
        ],
      },
    ],
  },
  'two-servers': {
    file: 'two-servers.cjs',
    about: 'two Socket.IO servers on one http server',
    parts: [talk(['/', '/socket.io/socket.io.js'])],
  },
  options: {
    file: 'options.mjs',
    about: 'options of Server, in an ES module',
    path: '/live',
    parts: [{ get: ['/missing'], events: [['ask', 'echo,1']] }],
  },
  'listens-twice': simple('listens-twice.cjs', 'the http server listens twice'),
  'unix-socket': simple('unix-socket.cjs', 'a Unix socket behind a proxy', { state: 'makes a socket for each worker' }),
  'port-0': simple('port-0.cjs', 'port 0', { state: 'has a port of its own' }),
  'already-listening': simple('already-listening.cjs', 'the http server listens before Server is made'),
  'next-example': {
    about: 'examples/next: Next.js built and started, with Socket.IO on its port',
    file: 'server.js',
    env: { NODE_ENV: 'production' },
    parts: [{ get: ['/', '/missing'], events: [['emit', 'say,"from a client"']] }],
    from: {
      folder: folderOf('../../examples/next'),
      isModule: true,
      packages: { ...dependenciesOf('../../examples/next/package.json'), gjallar: undefined },
      build: [['next', 'build']],
    },
  },
};

function dependenciesOf(path) {
  return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')).dependencies;
}

const io = { 'socket.io': '4.8.4' };

/** An application of other people: its folder in `gallery/`, the version that it is about, and its packages. */
const fetchedFrom = (name, version, about, packages, more) => {
  const { build, isModule, ...application } = more;
  const from = { folder: folderOf(`gallery/${name}`), packages, build, isModule };
  return { version, about, file: 'server.cjs', ...application, from };
};

/** @type {Record<string, Application>} */
export const gallery = {
  feathers: fetchedFrom(
    'feathers',
    '5.0.50',
    'Feathers on Koa: services over HTTP and sockets, errors, channels',
    { '@feathersjs/feathers': '5.0.50', '@feathersjs/koa': '5.0.50', '@feathersjs/socketio': '5.0.50' },
    {
      state: 'channels of one process',
      parts: [
        talk(['/messages?a=1', '/messages/7'], {
          more: [
            ['ask', 'create,"messages",{"text":" hello "}'],
            ['ask', 'find,"messages",{"b":2}'],
            ['ask', 'find,"nothing",{}'],
            fetched('POST', '/messages', json, '{"text":" x "}'),
          ],
        }),
      ],
    },
  ),
  'moleculer-io': fetchedFrom(
    'moleculer',
    '2.2.0',
    'moleculer-io: actions called over sockets, broadcasts to rooms',
    { moleculer: '0.14.35', 'moleculer-io': '2.2.0' },
    {
      parts: [
        {
          events: [
            ['ask', 'enter,"hall"'],
            ['emit', 'call,"room.say",{"room":"hall","text":"to all"}'],
            ['ask', 'call,"plus",{"a":1,"b":2}'],
          ],
        },
        talk([], { namespace: '/chat' }),
      ],
    },
  ),
  'socket-controllers': fetchedFrom(
    'socket-controllers',
    '0.3.1',
    'socket-controllers: classes as handlers',
    {
      ...io,
      'class-transformer': '0.5.1',
      'class-validator': '0.14.2',
      'reflect-metadata': '0.2.2',
      'socket-controllers': '0.3.1',
      typedi: '0.10.0',
    },
    {
      parts: [
        {
          events: [
            ['emit', 'save,{"deep":[1]}'],
            ['ask', 'add,{"a":2,"b":3}'],
          ],
        },
        talk([], { namespace: '/chat' }),
      ],
    },
  ),
  'fastify-socket.io': fetchedFrom(
    'fastify-socket.io',
    '5.1.0',
    'fastify-socket.io: Socket.IO as a plugin of Fastify 4',
    { ...io, fastify: '4.29.1', 'fastify-socket.io': '5.1.0' },
    { parts: [talk(['/about', '/missing'])] },
  ),
  nest: fetchedFrom(
    'nest',
    '11.1.9',
    'NestJS 11: a gateway with a guard, an interceptor, filters and streams',
    {
      ...Object.fromEntries(
        ['common', 'core', 'platform-express', 'platform-socket.io', 'websockets'].map((one) => [
          `@nestjs/${one}`,
          '11.1.9',
        ]),
      ),
      'reflect-metadata': '0.2.2',
      rxjs: '7.8.2',
    },
    {
      parts: [
        {
          namespace: '/nest',
          get: ['/about', '/missing'],
          auth: { name: 'ada' },
          events: [
            ['ask', 'guarded,{"token":"right"}'],
            ['emit', 'guarded,{"token":"wrong"}'],
            ['emit', 'broken'],
            ['emit', 'wrapped,{"deep":[1]}'],
            ['emit', 'numbers'],
            ['ask', 'enter,"hall"'],
            ['emit', 'say,{"room":"hall","text":"hello"}'],
          ],
        },
        talk([], { namespace: '/chat' }),
      ],
    },
  ),
  sveltekit: fetchedFrom(
    'sveltekit',
    '2.70.4',
    'SvelteKit with its adapter for Node.js: a page, an upload, and Socket.IO on their port',
    {
      ...io,
      '@sveltejs/kit': '2.70.4',
      '@sveltejs/adapter-node': '5.5.7',
      '@sveltejs/vite-plugin-svelte': '6.2.3',
      svelte: '5.57.3',
      vite: '7.3.8',
    },
    {
      file: 'server.mjs',
      isModule: true,
      build: [
        ['svelte-kit', 'sync'],
        ['vite', 'build'],
      ],
      parts: [
        talk(['/?name=ada', '/missing'], {
          more: [fetched('POST', '/upload', { 'content-type': 'application/octet-stream' }, 100_000)],
        }),
      ],
    },
  ),
};
