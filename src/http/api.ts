import type { TemplatedApp } from 'uWebSockets.js';
import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Identity } from '../accounts/identity.js';
import type { BodyError, Exchange } from '../engine/exchange.js';
import { type EngineRequest, readRequest } from '../engine/request.js';
import { UwsExchange } from '../engine/uws-exchange.js';
import { type ErrorCode, GjallarError } from '../errors.js';
import { packageRoot } from './http.js';

/** What the API does with rooms: the chat, seen from here. What they are handed is as it came from outside. */
export interface Rooms {
  publish(caller: Identity | undefined, room: string, input: unknown, key: string | undefined): Promise<object>;
  /** Tells who has a token; undefined where there are none. */
  readonly identify: ((token: unknown) => Promise<Identity>) | undefined;
  read(caller: Identity | undefined, room: string, query: unknown): Promise<object>;
}

export interface ApiOptions {
  /** Without it, and without tokens, everything but the description is refused. */
  apiKey: string | undefined;
  rooms: Rooms;
  /** Longest body, in bytes. */
  maxBody: number;
  /** Whether the app is an SSLApp. */
  secure: boolean;
  /** Told of errors that are not the caller's. */
  onError(error: unknown): void;
}

interface Call {
  /** Who calls; undefined for who has the API key. */
  caller: Identity | undefined;
  exchange: Exchange;
  request: EngineRequest;
  /** The parameters of the path, percent-decoded. */
  parameters: string[];
}

type Operation = (call: Call, options: ApiOptions) => Promise<object>;

/** The API's routes as the OpenAPI document names them. */
export const routes: Readonly<Record<string, Readonly<Record<string, Operation>>>> = {
  '/api/rooms/{room}/messages': { GET: readMessages, POST: publish },
};

/** Answers the API's routes, and everything else under /api/ with an error. Call it before the app listens. */
export function serveApi(app: TemplatedApp, options: ApiOptions): void {
  const description = readFileSync(join(packageRoot(), 'docs', 'openapi.json'), 'utf8');
  const patterns = Object.entries(routes).map(([path, operations]) => ({ pattern: patternOf(path), operations }));
  app.any('/api/*', (res, req) => {
    const request = readRequest(res, req, options.secure);
    const exchange = new UwsExchange(res, request, options.maxBody);
    const [path = ''] = request.url.split('?');
    if (path === '/api/openapi.json' && request.method === 'GET') return sendJson(exchange, 200, description);
    for (const { pattern, operations } of patterns) {
      const match = pattern.exec(path);
      if (match) return void answer(exchange, operations, match.slice(1), options);
    }
    sendFailure(exchange, new GjallarError('NOT_FOUND'));
  });
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{\w+\}/g, '([^/]+)')}$`);
}

async function answer(
  exchange: Exchange,
  operations: Readonly<Record<string, Operation>>,
  raw: string[],
  options: ApiOptions,
): Promise<void> {
  const { request } = exchange;
  try {
    const operation = operations[request.method];
    if (!operation) throw new GjallarError('METHOD_NOT_ALLOWED');
    const caller = await authorize(request, options);
    const parameters = raw.map(decode);
    const result = await operation({ caller, exchange, request, parameters }, options);
    sendJson(exchange, 200, `${JSON.stringify({ ok: true, ...result })}\n`);
  } catch (error) {
    if (!(error instanceof GjallarError)) options.onError(error);
    sendFailure(exchange, error instanceof GjallarError ? error : new GjallarError('INTERNAL'));
  }
}

async function publish({ caller, exchange, request, parameters }: Call, { rooms }: ApiOptions): Promise<object> {
  const body = await readJson(exchange);
  return rooms.publish(caller, parameters[0]!, body, request.headers['idempotency-key']);
}

function readMessages({ caller, request, parameters }: Call, { rooms }: ApiOptions): Promise<object> {
  const { epoch, ...numbers } = request._query;
  const query = Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, integer(value)]));
  return rooms.read(caller, parameters[0]!, epoch === undefined ? query : { ...query, epoch });
}

/** What is no plain integer stays the text it is, and is refused as such. */
function integer(text: string): number | string {
  return /^\d{1,15}$/.test(text) ? Number(text) : text;
}

async function authorize(request: EngineRequest, { apiKey, rooms }: ApiOptions): Promise<Identity | undefined> {
  if (apiKey === undefined && !rooms.identify) throw new GjallarError('API_OFF');
  const given = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (given === undefined) throw new GjallarError('UNAUTHORIZED');
  if (apiKey !== undefined && isSame(given, apiKey)) return undefined;
  if (!rooms.identify) throw new GjallarError('UNAUTHORIZED');
  return rooms.identify(given);
}

/** Compares in a time that tells nothing of where they differ, nor of their lengths. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

/** The room of an address. @throws GjallarError BAD_ROOM */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new GjallarError('BAD_ROOM');
  }
}

const bodyErrors: Record<BodyError, ErrorCode> = {
  'too large': 'BODY_TOO_LARGE',
  'length required': 'BAD_JSON',
  'length mismatch': 'BAD_JSON',
  // Nobody is there to read it.
  aborted: 'BAD_JSON',
};

async function readJson(exchange: Exchange): Promise<unknown> {
  const body = await new Promise<Buffer>((resolve, reject) => {
    exchange.readBody((error, bytes) => (error ? reject(new GjallarError(bodyErrors[error])) : resolve(bytes)));
  });
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new GjallarError('BAD_JSON');
  }
}

function sendFailure(exchange: Exchange, { code, message, status }: GjallarError): void {
  const challenge: Record<string, string> = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {};
  sendJson(exchange, status, `${JSON.stringify({ ok: false, code, message })}\n`, challenge);
}

function sendJson(exchange: Exchange, status: number, body: string, headers: Record<string, string> = {}): void {
  exchange.send(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', ...headers }, body);
}
