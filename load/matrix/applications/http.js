import { talk } from '../talk.js';

const json = { 'content-type': 'application/json' };
const large = JSON.stringify({ text: 'x'.repeat(1_000_000) });

/** The requests that applications with routes answer. */
async function routes(visitor) {
  const big = await visitor.http('/echo', { method: 'POST', headers: json, body: large });
  return {
    about: await visitor.http('/about?a=1&b=%C3%B6'),
    head: await visitor.http('/about', { method: 'HEAD' }),
    echo: await visitor.http('/echo', { method: 'POST', headers: json, body: '{"a":[1,"ö"]}' }),
    large: { ...big, body: big.body === large },
    malformed: await visitor.http('/echo', { method: 'POST', headers: json, body: '{"a":' }),
    broken: await visitor.http('/broken'),
    missing: await visitor.http('/missing'),
    options: await visitor.http('/about', { method: 'OPTIONS' }),
  };
}

const served = (file) => ({
  file: `http/${file}`,
  isStateless: true,
  script: async (visitor) => ({ http: await routes(visitor), sockets: await talk(visitor) }),
});

async function express(visitor) {
  return {
    http: await routes(visitor),
    stream: await visitor.http('/stream'),
    moved: await visitor.http('/moved'),
    forwarded: await visitor.http('/about', {
      headers: { 'x-forwarded-for': '192.0.2.7', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'chat.example' },
    }),
    range: await visitor.http('/page', { headers: { range: 'bytes=0-13' } }),
    cors: await visitor.engine('transport=polling', {
      method: 'OPTIONS',
      headers: { origin: 'https://example.com', 'access-control-request-method': 'POST' },
    }),
    sockets: await talk(visitor),
    page: await said(await visitor.page('/page')),
  };
}

/** What the page of `apps/page.html` shows once it has heard its own message. */
async function said(page) {
  await page.waitForFunction("document.getElementById('said').textContent !== 'nothing'");
  return page.textContent('#said');
}

export default {
  'express-4': {
    ...served('express-4.cjs'),
    about: 'Express 4: routes, JSON, cookies, streams, a page',
    script: express,
    hasPage: true,
  },
  'express-5': { ...served('express-5.cjs'), about: 'Express 5: the same', script: express, hasPage: true },
  fastify: { ...served('fastify.cjs'), about: 'Fastify 5: routes, JSON, errors' },
  koa: { ...served('koa.cjs'), about: 'Koa 3: routes, cookies, errors' },
  nest: {
    ...served('nest.cjs'),
    about: 'NestJS 11: a controller, and a gateway on a namespace',
    script: async (visitor) => ({ http: await routes(visitor), sockets: await talk(visitor, { namespace: '/nest' }) }),
  },
  'serve-static': {
    file: 'http/serve-static.cjs',
    about: 'serve-static: files, ranges, conditional requests, a page',
    isStateless: true,
    hasPage: true,
    script: async (visitor) => {
      const file = await visitor.http('/chat.cjs');
      return {
        file,
        known: await visitor.http('/chat.cjs', { headers: { 'if-none-match': file.headers.etag } }),
        range: await visitor.http('/chat.cjs', { headers: { range: 'bytes=5-20' } }),
        beyond: await visitor.http('/chat.cjs', { headers: { range: 'bytes=999999-' } }),
        folder: await visitor.http('/http'),
        above: await visitor.http('/%2e%2e/process.js'),
        missing: await visitor.http('/missing'),
        sockets: await talk(visitor),
        page: await said(await visitor.page()),
      };
    },
  },
  helmet: {
    file: 'http/helmet.cjs',
    about: 'helmet, for Express and for io.engine.use()',
    isStateless: true,
    script: async (visitor) => ({
      page: await visitor.http('/about'),
      handshake: await visitor.engine('transport=polling'),
      rejected: await visitor.engine('transport=pigeon'),
      bundle: await visitor.http('/socket.io/socket.io.min.js', { method: 'HEAD' }),
      sockets: await talk(visitor),
    }),
  },
};
