import type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js';
import { join } from 'node:path';
import { endResponse } from '../engine/uws/uws-exchange.js';
import { errorCodes } from '../errors.js';
import { addClientBundle } from '../http/client-bundle.js';
import type { Cors } from '../http/cors.js';
import { dataHeaders, type Headers, pageHeaders } from '../http/headers.js';
import { onRead } from '../http/own-paths.js';
import { packageRoot } from '../http/package-root.js';
import { StaticFiles } from '../http/static-files.js';

/** What the health endpoints tell. */
export interface Health {
  /** Whether this worker should get new clients: it should when it is ready. */
  readonly state: 'not ready' | 'ready' | 'draining';
  /** What does not work. */
  readonly problems: readonly string[];
}

export interface HttpOptions {
  health(): Health;
  cors: Cors;
  /** Whether the app is an SSLApp. */
  secure: boolean;
}

/** Serves everything that is not Socket.IO: the demo page, the client's bundle, the health endpoints. */
export function serveHttp(app: TemplatedApp, { health, cors, secure }: HttpOptions): void {
  const files = addClientBundle(new StaticFiles().add('/', join(packageRoot(), 'public')), '/socket.io/');
  const forPages = pageHeaders(secure);
  const forData = dataHeaders(secure);

  onRead(app, '/healthz', (res, req) => sendJson(res, req, '200 OK', forData, { ok: true }));
  onRead(app, '/readyz', (res, req) => {
    const { state, problems } = health();
    const isReady = state === 'ready';
    sendJson(res, req, isReady ? '200 OK' : '503 Service Unavailable', forData, {
      ok: isReady,
      state: isReady && problems.length > 0 ? 'degraded' : state,
      problems,
    });
  });
  app.any('/*', (res, req) => {
    const method = req.getMethod();
    const isRead = method === 'get' || method === 'head';
    if (isRead && files.serve(res, req, { ...forPages, ...cors.headersFor(req.getHeader('origin')) })) return;
    const { message } = errorCodes.NOT_FOUND;
    sendJson(res, req, '404 Not Found', forData, { ok: false, code: 'NOT_FOUND', message });
  });
}

function sendJson(res: HttpResponse, req: HttpRequest, status: string, headers: Headers, body: unknown): void {
  res.writeStatus(status).writeHeader('Content-Type', 'application/json');
  for (const [name, value] of Object.entries(headers)) res.writeHeader(name, value);
  endResponse(res, req.getMethod() === 'head', `${JSON.stringify(body)}\n`);
}
