import { readFileSync } from 'node:fs';
import { GjallarError } from '../../base/errors.js';
import { packageFile } from '../../base/package.js';
import type { Engine, TemplatedApp } from '../../index.js';
import {
  answerHttp,
  type Cors,
  dataHeaders,
  decodeRoom,
  type HttpExchange,
  readJson,
  sendJson,
} from '../../io/http/index.js';
import { drain, type OperatorOptions, readStats, requireOperator } from './operator.js';
import {
  type Call,
  type Caller,
  deleteState,
  getState,
  patchState,
  publish,
  readMessages,
  type StateOptions,
  setState,
} from './rooms.js';

/** What the operator does to clients, tokens and messages. All input is passed on unchecked. */
interface ActionsOptions extends OperatorOptions {
  /** Acts on clients on all workers and machines, and logs it. */
  act(caller: Caller, type: 'disconnect' | 'close-room', input: unknown): Promise<object>;
  deletion: {
    message(room: string, offset: number, epoch: string | undefined): Promise<object>;
    room(room: string): Promise<object>;
    user(name: string): Promise<object>;
  };
  tokens: {
    revoke(input: unknown): Promise<object>;
    list(): Promise<object>;
    lift(id: string): Promise<object>;
  };
  /** Ends the problem that messages were lost. @throws GjallarError HISTORY_OFF */
  acknowledgeLoss(): Promise<void>;
  /** What the server has of a user, in pages of one object for each line. */
  exportOf(user: string): AsyncGenerator<object[]>;
}

/** The caller chooses these texts, so the log gets only their beginning. */
const MAX_LOGGED_CHARACTERS = 200;

const actsOn = (type: 'disconnect' | 'close-room') => async (call: Call, options: ActionsOptions) =>
  options.act(await requireOperator(call, options), type, await readJson(call.exchange));

export const disconnect = actsOn('disconnect');
export const closeRoom = actsOn('close-room');

export async function revokeTokens(call: Call, options: ActionsOptions): Promise<object> {
  const caller = await requireOperator(call, options);
  const input = await readJson(call.exchange);
  return options.audit(caller, 'revoke-tokens', asTarget(input), () => options.tokens.revoke(input));
}

export async function listRevocations(call: Call, options: ActionsOptions): Promise<object> {
  await requireOperator(call, options);
  return options.tokens.list();
}

export async function liftRevocation(call: Call, options: ActionsOptions): Promise<object> {
  const caller = await requireOperator(call, options);
  const id = segmentOf(call, 0);
  return options.audit(caller, 'lift-revocation', { id }, () => options.tokens.lift(id));
}

/** Acknowledges that the history has lost messages: the problem disappears from all workers and machines. */
export async function acknowledgeLoss(call: Call, options: ActionsOptions): Promise<object> {
  const caller = await requireOperator(call, options);
  return options.audit(caller, 'acknowledge-loss', {}, async () => {
    await options.acknowledgeLoss().catch((error: unknown) => {
      throw error instanceof GjallarError
        ? error
        : Object.assign(new GjallarError('HISTORY_UNAVAILABLE'), { cause: error });
    });
    return {};
  });
}

export async function deleteMessage(call: Call, options: ActionsOptions): Promise<object> {
  const caller = await requireOperator(call, options);
  const room = segmentOf(call, 0);
  const offset = call.parameters[1]!;
  if (!/^\d{1,15}$/.test(offset)) throw new GjallarError('NOT_FOUND', 'The offset of a message is a number from 1.');
  const { epoch } = call.request._query;
  const target = { room, offset: Number(offset), ...(epoch !== undefined && { epoch }) };
  return options.audit(caller, 'delete-message', target, () => options.deletion.message(room, Number(offset), epoch));
}

export async function deleteRoomMessages(call: Call, options: ActionsOptions): Promise<object> {
  const caller = await requireOperator(call, options);
  const room = segmentOf(call, 0);
  return options.audit(caller, 'delete-room-messages', { room }, () => options.deletion.room(room));
}

export async function deleteUserMessages(call: Call, options: ActionsOptions): Promise<object> {
  const caller = await requireOperator(call, options);
  const user = segmentOf(call, 0);
  return options.audit(caller, 'delete-user-messages', { user }, () => options.deletion.user(user));
}

/** Streams what the server has of a user, one JSON object in each line. The last line has `end`. */
export async function exportUser(call: Call, options: ActionsOptions): Promise<undefined> {
  const caller = await requireOperator(call, options);
  const user = segmentOf(call, 0);
  await options.audit(caller, 'export-user', { user }, async () => {
    const pages = options.exportOf(user);
    // An error of the first page still gets a response of its own.
    const first = await pages.next();
    return streamLines(call, pages, first);
  });
  return undefined;
}

async function streamLines(
  { exchange, headers, request }: Call,
  pages: AsyncGenerator<object[]>,
  first: IteratorResult<object[]>,
): Promise<{ lines: number; complete: boolean }> {
  const withType = { ...headers, 'Content-Type': 'application/x-ndjson' };
  if (exchange.finished) return { lines: 0, complete: false };
  if (request.method === 'HEAD') {
    exchange.send(200, withType, '');
    return { lines: 0, complete: true };
  }
  const body = (exchange as Required<HttpExchange>).stream(200, withType);
  let lines = 0;
  try {
    for (let page = first; !page.done; page = await pages.next()) {
      lines += page.value.length;
      if (page.value.length > 0 && !(await body.write(textOf(page.value)))) return { lines, complete: false };
    }
    const complete = await body.write(textOf([{ end: true, lines }]));
    body.end();
    return { lines, complete };
  } catch (error) {
    // The status is sent already. A response without its last line is not whole.
    body.abort();
    throw error;
  } finally {
    await pages.return(undefined);
  }
}

const textOf = (lines: readonly object[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

/** @throws GjallarError BAD_INPUT */
function segmentOf({ parameters }: Call, index: number): string {
  return decodeRoom(parameters[index]!);
}

/** The fields of a body that the log shows. */
function asTarget(input: unknown): object {
  const fields = (typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>;
  const shown = ['user', 'jti', 'before'].filter((name) => ['string', 'number'].includes(typeof fields[name]));
  return Object.fromEntries(shown.map((name) => [name, String(fields[name]).slice(0, MAX_LOGGED_CHARACTERS)]));
}

interface ApiOptions extends StateOptions, ActionsOptions {
  cors: Cors;
  /** Maximum size of a request body, in bytes. */
  maxBody: number;
  /** Whether the app is an SSLApp. */
  secure: boolean;
}

/** Resolves with the fields of the response besides `ok`; undefined if it has responded itself. */
type Operation = (call: Call, options: ApiOptions) => Promise<object | undefined>;
type Operations = Readonly<Record<string, Operation>>;

/** The API's routes, as `openapi.json` names them besides its own. */
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
export function serveApi(app: TemplatedApp, engine: Engine, options: ApiOptions): void {
  const { cors, secure, maxBody } = options;
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
      const answer = await operation(call, options);
      if (answer) sendJson(exchange, call.status, headers, { ok: true, ...answer });
      return;
    }
    throw new GjallarError('NOT_FOUND');
  };
  answerHttp(app, engine, { pattern: '/api/*', secure, maxBody, headersFor, handle });
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{\w+\}/g, '([^/]+)')}$`);
}
