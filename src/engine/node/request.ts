import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { type EngineRequest, intern, OF_ONE_CLIENT, type RequestConnection, requestOf } from '../http/request.js';
import { clientAddress } from '../limits/address-limits.js';

/**
 * Copies a request that node:http has read. Applications see its socket, including the client's certificate. The copy keeps
 * what they may read later, but not the IncomingMessage, which would take more memory than everything else of a client.
 */
export function readMessage(message: IncomingMessage, trustProxy: number): EngineRequest {
  const { socket, url = '/', rawHeaders, httpVersion } = message;
  // Only the request of a handshake is kept, and that of a client is like others. Those that follow name its session.
  const shared = url.includes('sid=') ? asIs : intern;
  const headers: Record<string, string> = {};
  const given = message.headers;
  for (const name in given) {
    const value = String(given[name]);
    headers[name] = name === OF_ONE_CLIENT ? value : shared(value);
  }
  const parts = {
    method: message.method ?? 'GET',
    url: shared(url),
    headers,
    encrypted: (socket as TLSSocket).encrypted === true,
    raw: { headers: rawHeaders, httpVersion },
  };
  // Behind a trusted proxy, the address of the socket is the proxy's. That of HTTP/2 tells nothing once the request is over.
  if (trustProxy === 0 && message.httpVersionMajor === 1) {
    return requestOf({ ...parts, remoteAddress: '' }, socket as unknown as RequestConnection);
  }
  const remoteAddress = intern(clientAddress(socket.remoteAddress ?? '', headers['x-forwarded-for'], trustProxy));
  return requestOf({ ...parts, remoteAddress });
}

const asIs = (text: string) => text;
