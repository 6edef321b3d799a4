import type { HttpResponse, TemplatedApp } from 'uWebSockets.js';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorCodes } from '../errors.js';
import { StaticFiles } from './static-files.js';

/** What the health endpoints tell. */
export interface Health {
  /** Whether this worker should get new clients. */
  readonly isReady: boolean;
  /** Why it is not, or what does not work although it is. */
  readonly problems: readonly string[];
}

/** Sent with every page and file. */
const securityHeaders: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'self'; connect-src 'self' ws: wss:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; " +
    "form-action 'self'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
};

/** Serves everything that is not Socket.IO: the demo page, the client's bundle, the health endpoints. */
export function serveHttp(app: TemplatedApp, health: () => Health): void {
  const files = new StaticFiles()
    .add('/', join(packageRoot(), 'public'))
    .add('/socket.io/', clientBundle(), (name) => /^socket\.io.*\.js(\.map)?$/.test(name));

  app.get('/healthz', (res) => sendJson(res, '200 OK', { ok: true }));
  app.get('/readyz', (res) => {
    const { isReady, problems } = health();
    sendJson(res, isReady ? '200 OK' : '503 Service Unavailable', {
      ok: isReady,
      state: isReady ? (problems.length > 0 ? 'degraded' : 'ready') : 'not ready',
      problems,
    });
  });
  app.any('/*', (res, req) => {
    const method = req.getMethod();
    if ((method === 'get' || method === 'head') && files.serve(res, req, securityHeaders)) return;
    const { message } = errorCodes.NOT_FOUND;
    sendJson(res, '404 Not Found', { ok: false, code: 'NOT_FOUND', message });
  });
}

function sendJson(res: HttpResponse, status: string, body: unknown): void {
  res.writeStatus(status).writeHeader('Content-Type', 'application/json').writeHeader('Cache-Control', 'no-store');
  res.end(`${JSON.stringify(body)}\n`);
}

/** Where the package's files lie that are not code. */
export function packageRoot(): string {
  return join(dirname(fileURLToPath(import.meta.url)), '..', '..');
}

function clientBundle(): string {
  return join(dirname(createRequire(import.meta.url).resolve('socket.io/package.json')), 'client-dist');
}
