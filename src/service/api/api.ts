import { GjallarError } from '../../base/errors.js';
import type { HttpExchange } from '../../engine/http/exchange.js';
import type { HttpHost } from '../../engine/http/guarded-requests.js';
import { routeHttp } from '../../engine/routes.js';
import type { TemplatedApp } from '../../engine/uws/app.js';
import { type Cors, dataHeaders, type Headers } from '../../io/http/headers.js';
import { sendError, sendFailure, sendJson } from '../../io/http/json.js';
import {
  type ActionsOptions,
  acknowledgeLoss,
  closeRoom,
  deleteMessage,
  deleteRoomMessages,
  deleteUserMessages,
  disconnect,
  exportUser,
  liftRevocation,
  listRevocations,
  revokeTokens,
} from './actions.js';
import { documentSender } from './openapi.js';
import { drain, readStats } from './operator.js';
import {
  type Call,
  deleteState,
  deleteStateRoom,
  patchState,
  publish,
  readMessages,
  readState,
  type StateOptions,
  setState,
} from './rooms.js';

export interface ApiOptions extends StateOptions, ActionsOptions {
  cors: Cors;
  /** Maximum size of a request body, in bytes. */
  maxBody: number;
  /** Whether the app is an SSLApp. */
  secure: boolean;
  /** The OpenAPI document of the {@link Route}s. */
  describe(): Promise<object>;
  /** Called with errors that the caller has not caused. */
  onError(error: unknown): void;
}

/** Resolves with the fields of the response besides `ok`; undefined if it has responded itself. */
type Operation = (call: Call, options: ApiOptions) => Promise<object | undefined>;
type Operations = Readonly<Record<string, Operation>>;

/** The API's routes as the OpenAPI document names them. The document's own route is not listed. */
export const routes = {
  '/api/rooms/{room}/messages': { GET: readMessages, POST: publish, DELETE: deleteRoomMessages },
  '/api/state/{room}': { GET: readState, DELETE: deleteStateRoom },
  '/api/state/{room}/{key}': { PUT: setState, PATCH: patchState, DELETE: deleteState },
  '/api/stats': { GET: readStats },
  '/api/drain': { POST: drain },
  '/api/rooms/{room}/messages/{offset}': { DELETE: deleteMessage },
  '/api/users/{user}/messages': { DELETE: deleteUserMessages },
  '/api/users/{user}/export': { GET: exportUser },
  '/api/tokens/revoke': { POST: revokeTokens },
  '/api/tokens/revocations': { GET: listRevocations },
  '/api/acknowledge-loss': { POST: acknowledgeLoss },
  '/api/tokens/revocations/{id}': { DELETE: liftRevocation },
  '/api/disconnect': { POST: disconnect },
  '/api/close-room': { POST: closeRoom },
} as const satisfies Readonly<Record<string, Operations>>;

type Routes = typeof routes;
/** The name of an operation, such as `GET /api/stats`. */
export type Route = { [Path in keyof Routes]: `${keyof Routes[Path] & string} ${Path}` }[keyof Routes];

/** Answers the API's routes, and any other path under /api/ with an error. Call it before the app listens. */
export function serveApi(app: TemplatedApp, host: HttpHost, options: ApiOptions): void {
  const { cors, secure, maxBody } = options;
  const patterns = Object.entries<Operations>(routes).map(([path, operations]) => ({
    pattern: patternOf(path),
    operations,
  }));
  const fixed = dataHeaders(secure);
  const sendDocument = documentSender(options.describe);
  const onRequest = (exchange: HttpExchange): unknown => {
    const { request } = exchange;
    const { origin } = request.headers;
    const headers = { ...fixed, ...cors.headersFor(origin) };
    const [path = ''] = request.url.split('?');
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    if (path === '/api/openapi.json' && method === 'GET') return sendDocument(exchange, headers);
    for (const { pattern, operations } of patterns) {
      const match = pattern.exec(path);
      if (!match) continue;
      const permission = method === 'OPTIONS' && cors.preflight(origin, Object.keys(operations));
      if (permission) return exchange.send(204, { ...fixed, ...permission }, '');
      const call = { exchange, request, parameters: match.slice(1), headers, status: 200 };
      return void answer(call, operations[method], options, headers);
    }
    sendFailure(exchange, headers, new GjallarError('NOT_FOUND'));
  };
  routeHttp(app, host, { pattern: '/api/*', secure, maxBody, handle: onRequest });
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{\w+\}/g, '([^/]+)')}$`);
}

async function answer(
  call: Call,
  operation: Operation | undefined,
  options: ApiOptions,
  headers: Headers,
): Promise<void> {
  try {
    if (!operation) throw new GjallarError('METHOD_NOT_ALLOWED');
    const answer = await operation(call, options);
    if (answer) sendJson(call.exchange, call.status, headers, { ok: true, ...answer });
  } catch (error) {
    sendError(call.exchange, headers, error, options.onError);
  }
}
