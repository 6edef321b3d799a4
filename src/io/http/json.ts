import { type ErrorCode, GjallarError } from '../../base/errors.js';
import { thisProcess } from '../../base/process.js';
import type { BodyError, HttpExchange } from '../../engine/http/exchange.js';
import { checkDepth } from '../../engine/parser/parser.js';
import type { Headers } from './headers.js';

/** The part of an exchange that sends a response. */
export type JsonSender = Pick<HttpExchange, 'send'>;

export function sendJson(exchange: JsonSender, status: number, headers: Headers, body: unknown): void {
  exchange.send(status, { ...headers, 'Content-Type': 'application/json' }, `${JSON.stringify(body)}\n`);
}

/** The authentication scheme that a 401 response asks for. */
const challenges: Partial<Record<ErrorCode, string>> = {
  ADMIN_ONLY: 'Basic realm="gjallar", charset="UTF-8"',
};

/** The response to a request, which is reported if it is known. */
type Answering = JsonSender & Partial<Pick<HttpExchange, 'request'>>;

export function sendFailure(exchange: Answering, headers: Headers, error: GjallarError): void {
  const { code, message, status, retryAfter } = error;
  if (code !== 'INTERNAL' && exchange.request) thisProcess.reports.rejected(code, exchange.request);
  const challenge: Headers = status === 401 ? { 'WWW-Authenticate': challenges[code] ?? 'Bearer' } : {};
  const retry: Headers = retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) };
  sendJson(exchange, status, { ...headers, ...challenge, ...retry }, { ok: false, code, message });
}

/** Answers with an error. An error that the caller has not caused goes to `onError`, and its text is not sent. */
export function sendError(
  exchange: Answering,
  headers: Headers,
  error: unknown,
  onError: (error: unknown) => void,
): void {
  if (error instanceof GjallarError) return sendFailure(exchange, headers, error);
  onError(error);
  sendFailure(exchange, headers, new GjallarError('INTERNAL'));
}

const bodyErrors: Record<BodyError, ErrorCode> = {
  'too large': 'BODY_TOO_LARGE',
  'length required': 'BAD_JSON',
  'length mismatch': 'BAD_JSON',
  overloaded: 'OVERLOADED',
  // No client is left to read it.
  aborted: 'BAD_JSON',
};

/** @throws GjallarError BAD_JSON, BODY_TOO_LARGE, OVERLOADED */
export async function readJson(exchange: HttpExchange): Promise<unknown> {
  return parseJson(await readBody(exchange));
}

/** @throws GjallarError BAD_JSON, BODY_TOO_LARGE, OVERLOADED */
export function readBody(exchange: HttpExchange): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    exchange.readBody((error, bytes) => (error ? reject(new GjallarError(bodyErrors[error])) : resolve(bytes)));
  });
}

/** @throws GjallarError BAD_JSON */
export function parseJson(body: Uint8Array): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    checkDepth(text);
    return JSON.parse(text);
  } catch {
    throw new GjallarError('BAD_JSON');
  }
}

/** Decodes the percent-encoded room in a segment of a path. @throws GjallarError BAD_ROOM */
export function decodeRoom(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new GjallarError('BAD_ROOM');
  }
}
