import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { deflate, gzip, type ZlibOptions } from 'node:zlib';
import accepts from 'accepts';
import type { HandshakeError } from '../../base/errors.js';
import type { HttpExchange, ResponseHeaders } from '../http/exchange.js';
import { respond } from '../http/middleware.js';

/** The compression of responses: zlib's options, and the size in bytes from which on responses are compressed. */
export type HttpCompression = ZlibOptions & { threshold: number };

const encoders = { gzip: promisify(gzip), deflate: promisify(deflate) };

/** Answers with an error in the form of engine.io. */
export function respondWithError(exchange: HttpExchange, { code, status, message }: HandshakeError): void {
  respond(exchange, status, { 'Content-Type': 'application/json' }, JSON.stringify({ code, message }));
}

/** The headers of each response of this transport. */
export function commonHeaders({ request }: HttpExchange, contentType: string): ResponseHeaders {
  const headers: ResponseHeaders = { 'Content-Type': contentType };
  const agent = request.headers['user-agent'];
  // Old versions of Internet Explorer treat some payloads as an attack.
  if (agent && (agent.includes(';MSIE') || agent.includes('Trident/'))) headers['X-XSS-Protection'] = '0';
  headers['cache-control'] = 'no-store';
  headers['X-Content-Type-Options'] = 'nosniff';
  return headers;
}

/**
 * Answers a poll.
 * @param compression how to compress the payload if the client supports it and it is large enough; undefined to send it as
 *   it is
 */
export async function respondWithPayload(
  exchange: HttpExchange,
  payload: string | Buffer,
  headers: ResponseHeaders,
  compression: HttpCompression | undefined,
): Promise<void> {
  if (compression && payload.length >= compression.threshold) {
    const encoding = accepts(exchange.request as unknown as IncomingMessage).encoding(['gzip', 'deflate']);
    if (encoding === 'gzip' || encoding === 'deflate') {
      headers['Content-Encoding'] = encoding;
      return respond(exchange, 200, headers, await encoders[encoding](payload, compression));
    }
  }
  respond(exchange, 200, headers, payload);
}
