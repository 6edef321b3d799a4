import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { type EngineRequest, intern, type RequestConnection, requestOf } from '../http/request.js';
import { clientAddress } from '../limits/address-limits.js';

/**
 * Copies a request that node:http has read. Applications see its socket, including the client's certificate. The copy keeps
 * what they may read later, but not the IncomingMessage, which would take more memory than everything else of a client.
 */
export function readMessage(message: IncomingMessage, trustProxy: number): EngineRequest {
  const { socket } = message;
  const headers: Record<string, string> = {};
  const given = message.headers;
  for (const name in given) headers[name] = intern(String(given[name]));
  const request = requestOf({
    method: message.method ?? 'GET',
    url: intern(message.url ?? '/'),
    headers,
    remoteAddress: intern(clientAddress(socket.remoteAddress ?? '', headers['x-forwarded-for'], trustProxy)),
    encrypted: (socket as TLSSocket).encrypted === true,
    raw: { headers: message.rawHeaders.map(intern), httpVersion: intern(message.httpVersion) },
  });
  // Behind a trusted proxy, the address of the socket is the proxy's. That of HTTP/2 tells nothing once the request is over.
  if (trustProxy === 0 && message.httpVersionMajor === 1) request.connection = socket as unknown as RequestConnection;
  return request;
}
