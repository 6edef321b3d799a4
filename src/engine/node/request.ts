import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { EngineRequest, intern, type RequestConnection } from '../http/request.js';
import { clientAddress } from '../limits/address-limits.js';

/**
 * A request that node:http has read. Applications see its socket, including the client's certificate. It keeps what they
 * may read later, but not the IncomingMessage, which would take more memory than everything else of a client.
 */
export class NodeRequest extends EngineRequest {
  private readonly raw: string[];
  private readonly version: string;

  constructor(message: IncomingMessage, trustProxy: number) {
    const { socket } = message;
    const headers: Record<string, string> = {};
    const given = message.headers;
    for (const name in given) headers[name] = intern(String(given[name]));
    super({
      method: message.method ?? 'GET',
      url: intern(message.url ?? '/'),
      headers,
      remoteAddress: intern(clientAddress(socket.remoteAddress ?? '', headers['x-forwarded-for'], trustProxy)),
      encrypted: (socket as TLSSocket).encrypted === true,
    });
    this.raw = message.rawHeaders.map(intern);
    this.version = intern(message.httpVersion);
    // Behind a trusted proxy, the address of the socket is the proxy's.
    if (trustProxy === 0) this.connection = socket as unknown as RequestConnection;
  }

  override get rawHeaders(): string[] {
    return this.raw;
  }

  override get httpVersion(): string {
    return this.version;
  }
}
