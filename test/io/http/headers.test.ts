import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { atEnd } from '../../support/ends.js';
import { sharedServer } from '../../support/server.js';
import { type ServiceHere as RunningServer, startServiceHere as startServer } from '../../support/service-here.js';

const ORIGIN = 'https://app.example';
const API_KEY = 'a-key';

describe('what comes with every answer', () => {
  const server = sharedServer({ WORKERS: '1', CORS_ORIGIN: `${ORIGIN}, https://other.example`, API_KEY });

  const ask = (path: string, options: RequestInit = {}) => fetch(server.url + path, options);
  const policyOf = (response: Response) =>
    new Map(
      response.headers
        .get('content-security-policy')!
        .split('; ')
        .map((directive) => [directive.split(' ')[0]!, directive.split(' ').slice(1).join(' ')]),
    );

  const pages = ['/', '/index.html', '/app.js', '/style.css', '/socket.io/socket.io.min.js'];
  const data = ['/healthz', '/readyz', '/metrics', '/api/stats', '/api/openapi.json', '/api/rooms/a/messages', '/none'];

  test.each([...pages, ...data])(
    '%s: its content type is fixed, it sends no referrer, and it cannot be framed',
    async (path) => {
      const response = await ask(path);
      const { headers } = response;
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(policyOf(response).get('default-src')).toBe("'none'");
      expect(policyOf(response).get('frame-ancestors')).toBe("'none'");
      expect(headers.get('content-security-policy')).not.toMatch(/unsafe|\*|data:/);
      // Without TLS it would be a lie that browsers ignore.
      expect(headers.get('strict-transport-security')).toBeNull();
    },
  );

  test.each(pages)('%s: loads from here alone, without inline code', async (path) => {
    const response = await ask(path);
    const policy = policyOf(response);
    for (const what of ['script-src', 'style-src', 'img-src', 'connect-src']) expect(policy.get(what)).toBe("'self'");
    for (const what of ['base-uri', 'form-action']) expect(policy.get(what)).toBe("'none'");
    expect(policy.get('require-trusted-types-for')).toBe("'script'");
    expect(response.headers.get('x-frame-options')).toBe('DENY');
    expect(response.headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(response.headers.get('permissions-policy')).toContain('camera=()');
  });

  test('HEAD tells what GET would send, and the next request is answered by the same worker', async () => {
    const get = await ask('/');
    const head = await ask('/', { method: 'HEAD' });
    expect({ status: head.status, body: await head.text() }).toEqual({ status: 200, body: '' });
    expect(head.headers.get('etag')).toBe(get.headers.get('etag'));
    expect((await ask('/')).status).toBe(200);
    expect(server.log.filter(({ msg }) => msg?.includes('died'))).toEqual([]);
  });

  test.each([...pages, ...data])('%s: HEAD is answered without a body, and its connection serves on', async (path) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const answerTo = async (method: string, to: string) => {
      const call = request(server.url + to, { method, agent }).end();
      const [response] = (await once(call, 'response')) as [IncomingMessage];
      let body = '';
      for await (const chunk of response) body += chunk;
      const lengths = response.rawHeaders.filter((_, index, all) => /^content-length$/i.test(all[index - 1] ?? ''));
      return { body, lengths, isSameConnection: call.reusedSocket };
    };
    atEnd(() => agent.destroy());
    const head = await answerTo('HEAD', path);
    const healthz = await answerTo('GET', '/healthz');
    expect(healthz).toEqual({ body: '{"ok":true}\n', lengths: ['12'], isSameConnection: true });
    expect(head.lengths).toHaveLength(1);
    if (!pages.includes(path)) return;
    expect(head.lengths).toEqual((await answerTo('GET', path)).lengths);
  });

  test.each([...pages, '/healthz', '/readyz', '/metrics'])('%s: HEAD has the status of GET', async (path) => {
    expect((await ask(path, { method: 'HEAD' })).status).toBe(200);
  });

  test('a page that the browser has already is not sent again', async () => {
    const etag = (await ask('/')).headers.get('etag')!;
    const known = await ask('/', { headers: { 'If-None-Match': etag } });
    expect({ status: known.status, body: await known.text() }).toEqual({ status: 304, body: '' });
    expect(known.headers.get('content-security-policy')).toContain('frame-ancestors');
  });

  test.each(data)('%s: is neither kept nor embedded elsewhere', async (path) => {
    const { headers } = await ask(path);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
  });

  test('pages of CORS_ORIGIN may read the API and load the client, and no others', async () => {
    for (const path of [
      '/api/rooms/a/messages',
      '/api/openapi.json',
      '/gjallar-client.js',
      '/socket.io/socket.io.js',
    ]) {
      const allowed = await ask(path, { headers: { Origin: ORIGIN } });
      expect(allowed.headers.get('access-control-allow-origin')).toBe(ORIGIN);
      expect(allowed.headers.get('vary')).toMatch(/\bOrigin\b/);
      for (const headers of [{ Origin: 'https://evil.example' }, { Origin: `${ORIGIN}.evil.example` }, {}]) {
        const other = await ask(path, { headers: headers as Record<string, string> });
        expect(other.headers.get('access-control-allow-origin')).toBeNull();
        expect(other.headers.get('vary')).toMatch(/\bOrigin\b/);
      }
    }
  });

  test('a preflight tells what may be sent', async () => {
    const preflight = (origin: string, path = '/api/rooms/a/messages') =>
      ask(path, {
        method: 'OPTIONS',
        headers: {
          Origin: origin,
          'Access-Control-Request-Method': 'POST',
          'Access-Control-Request-Headers': 'authorization,idempotency-key',
        },
      });
    const allowed = await preflight(ORIGIN);
    expect(allowed.status).toBe(204);
    expect(Object.fromEntries(allowed.headers)).toMatchObject({
      'access-control-allow-origin': ORIGIN,
      'access-control-allow-methods': 'GET, POST, DELETE',
      'access-control-allow-headers': 'Authorization, Content-Type, Idempotency-Key',
      'access-control-max-age': '600',
    });
    expect((await preflight(ORIGIN, '/api/stats')).headers.get('access-control-allow-methods')).toBe('GET');
    const refused = await preflight('https://evil.example');
    expect(refused.status).toBe(405);
    expect(refused.headers.get('access-control-allow-methods')).toBeNull();
  });

  test.each(['healthz', 'readyz', 'metrics', 'api', 'api/x', 'socket.io'])(
    'no plain WebSocket opens at /%s, but at another spelling of that room',
    async (name) => {
      const at = `${server.url.replace('http', 'ws')}/`;
      const outcome = (address: string) =>
        new Promise((resolve) => {
          const socket = new WebSocket(address);
          socket.once('open', () => {
            socket.terminate();
            resolve('open');
          });
          socket.once('unexpected-response', (_request, response) => {
            response.destroy();
            resolve(response.statusCode);
          });
        });
      expect(await outcome(at + name)).toBe(404);
      const spelled = `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`;
      expect(await outcome(at + spelled)).toBe('open');
    },
  );
});

describe('servers with other settings', () => {
  let none: RunningServer;
  let all: RunningServer;
  beforeAll(async () => {
    [none, all] = await Promise.all([
      startServer({ WORKERS: '1', API_KEY, DEMO_PAGE: 'off' }),
      startServer({ WORKERS: '1', API_KEY, CORS_ORIGIN: '*' }),
    ]);
  });
  afterAll(() => Promise.all([none.stop(), all.stop()]));

  test('without CORS_ORIGIN no other page may read anything, and with * all may', async () => {
    for (const path of ['/api/stats', '/gjallar-client.js']) {
      const headers = { Origin: ORIGIN };
      const refused = await fetch(none.url + path, { headers });
      expect(refused.headers.get('access-control-allow-origin')).toBeNull();
      expect((await fetch(all.url + path, { headers })).headers.get('access-control-allow-origin')).toBe('*');
    }
    const { status } = await fetch(`${none.url}/api/stats`, { method: 'OPTIONS', headers: { Origin: ORIGIN } });
    expect(status).toBe(405);
  });

  test('DEMO_PAGE=off leaves the client helper and the bundle, and no page', async () => {
    const status = async (path: string) => (await fetch(none.url + path)).status;
    const paths = ['/', '/index.html', '/app.js', '/style.css', '/gjallar-client.js', '/socket.io/socket.io.min.js'];
    expect(await Promise.all(paths.map(status))).toEqual([404, 404, 404, 404, 200, 200]);
    const page = await fetch(`${none.url}/live`, { headers: { Accept: 'text/html,*/*' } });
    expect([page.status, await page.text()]).toEqual([404, expect.stringContaining('ADMIN_PORT')]);
  });
});
