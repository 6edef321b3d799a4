import { readFileSync } from 'node:fs';
import { GjallarError } from '../../base/errors.js';
import { packageFile } from '../../base/package.js';
import { answerHttp, type Cors, dataHeaders, type HttpExchange, sendJson } from '../../io/http/index.js';
import type { Api, Operation } from './call.js';
import {
  acknowledgeLoss,
  closeRoom,
  deleteMessage,
  deleteRoomMessages,
  deleteUserMessages,
  disconnect,
  drain,
  exportUser,
  liftRevocation,
  listRevocations,
  readStats,
  revokeTokens,
} from './operator.js';
import { deleteState, getState, patchState, publish, readMessages, setState } from './rooms.js';

type Operations = Readonly<Record<string, Operation>>;

/** The API's routes, as document.ts describes them. */
export const routes = {
  '/api/rooms/{room}/messages': { GET: readMessages, POST: publish, DELETE: deleteRoomMessages },
  '/api/state/{room}/{key}': { GET: getState, PUT: setState, PATCH: patchState, DELETE: deleteState },
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

/** Answers the API's routes, and any other path under /api/ with an error. Call it before the app listens. */
export function serveApi(api: Api, cors: Cors): void {
  const { app, engine, secure } = api.port;
  const patterns = Object.entries<Operations>(routes).map(([path, operations]) => ({
    pattern: patternOf(path),
    operations,
  }));
  const fixed = dataHeaders(secure);
  // It is long: it is sent as it is, within the turn of the request, where the request guard measures how long that takes.
  const document = readFileSync(packageFile('dist/openapi.json'));
  const headersFor = ({ request }: HttpExchange) => ({ ...fixed, ...cors.headersFor(request.headers.origin) });
  const handle = async (exchange: HttpExchange): Promise<void> => {
    const { request } = exchange;
    const headers = headersFor(exchange);
    const [path = ''] = request.url.split('?');
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    if (path === '/api/openapi.json' && method === 'GET')
      return exchange.send(200, { ...headers, 'Content-Type': 'application/json' }, document);
    for (const { pattern, operations } of patterns) {
      const match = pattern.exec(path);
      if (!match) continue;
      const permission = method === 'OPTIONS' && cors.preflight(request.headers.origin, Object.keys(operations));
      if (permission) return exchange.send(204, { ...fixed, ...permission }, '');
      const operation = operations[method];
      if (!operation) throw new GjallarError('METHOD_NOT_ALLOWED');
      const call = { exchange, request, parameters: match.slice(1), headers, status: 200 };
      const answer = await operation(call, api);
      if (answer) sendJson(exchange, call.status, headers, { ok: true, ...answer });
      return;
    }
    throw new GjallarError('NOT_FOUND');
  };
  answerHttp(app, engine, { pattern: '/api/*', secure, maxBody: api.config.maxPayload, headersFor, handle });
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{\w+\}/g, '([^/]+)')}$`);
}
