/**
 * HTTP beside Socket.IO on the app of an engine, the same on uWebSockets.js and on portable sockets. An application that has
 * an `http.Server` of its own does not need it.
 *
 * ```
 * answerHttp(app, engine, {
 *   pattern: '/prices/*',
 *   maxBody: 10_000,
 *   handle: async (exchange) => sendJson(exchange, 200, {}, { ok: true, got: await readJson(exchange) }),
 * });
 * ```
 *
 *   json.ts                        bodies of requests, JSON and errors in responses
 *   headers.ts                     the headers of pages and of data, CORS
 *   static-files.ts, client-bundle.ts  files from memory, the bundles of the client
 *   at-most-every.ts               answers that cost much, however many ask
 *   guard.ts                       secrets that callers send, the operator's password
 */
import { reportFailure } from '../../base/owner.js';
import type { Engine } from '../../engine/engine.js';
import type { HttpExchange } from '../../engine/http/exchange.js';
import { routeHttp } from '../../engine/routes.js';
import type { TemplatedApp } from '../../engine/uws/app.js';
import { dataHeaders, type Headers } from './headers.js';
import { sendError } from './json.js';

export type { BodyStream, HttpExchange, ResponseHeaders } from '../../engine/http/exchange.js';
export { WorkQueue } from '../../engine/limits/work-queue.js';
export { atMostEvery } from './at-most-every.js';
export { addClientBundle, addHelper, helperModules, pageBundles } from './client-bundle.js';
export { type AdminGuard, isSame } from './guard.js';
export { Cors, dataHeaders, type Headers, pageHeaders } from './headers.js';
export { decodeRoom, type JsonSender, parseJson, readBody, readJson, sendFailure, sendJson } from './json.js';
export { StaticFiles } from './static-files.js';

export interface HttpRouteOptions {
  /** A path, or the beginning of one and `*`. */
  pattern: string;
  /** Whether the app is an SSLApp. @default false */
  secure?: boolean;
  /** How many bytes the body of a request may have. @default 0 */
  maxBody?: number;
  /** The headers of the response if `handle` fails. @default those of {@link dataHeaders} */
  headersFor?(exchange: HttpExchange): Headers;
  /** Answers a request. A GjallarError that it throws becomes the response, and so does any other error, as `INTERNAL`. */
  handle(exchange: HttpExchange): unknown;
}

/**
 * Answers HTTP requests on the port of an engine, within the limits of the engine. Call it before the app listens. A response
 * leaves after the broadcasts that the engine was given before it, unless it is streamed.
 */
export function answerHttp(app: TemplatedApp, engine: Engine, options: HttpRouteOptions): void {
  const { pattern, secure = false, maxBody = 0, handle } = options;
  const headers = dataHeaders(secure);
  const answer = async (exchange: HttpExchange) => {
    const { send } = exchange;
    exchange.send = (...response) => engine.outbox.afterHeld(() => send.apply(exchange, response));
    try {
      await handle(exchange);
    } catch (error) {
      const all = options.headersFor?.(exchange) ?? headers;
      sendError(exchange, all, error, (cause) => reportFailure(`answering a request to ${pattern}`, cause));
    }
  };
  routeHttp(app, engine, { pattern, secure, maxBody, handle: (exchange) => void answer(exchange) });
}
