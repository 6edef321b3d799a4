import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { EngineRequest, type RequestConnection } from '../../engine/http/request.js';
import { clientAddress } from '../../engine/limits/client-address.js';

/** A request to the engine that node:http has read. Applications see its socket, including the client's certificate. */
export class NodeRequest extends EngineRequest {
  constructor(
    private readonly message: IncomingMessage,
    trustProxy: number,
  ) {
    const { socket } = message;
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(message.headers)) headers[name] = String(value);
    super({
      method: message.method ?? 'GET',
      url: message.url ?? '/',
      headers,
      remoteAddress: clientAddress(socket.remoteAddress ?? '', headers['x-forwarded-for'], trustProxy),
      encrypted: (socket as TLSSocket).encrypted === true,
    });
    // Behind a trusted proxy, the address of the socket is the proxy's.
    if (trustProxy === 0) this.connection = socket as unknown as RequestConnection;
  }

  override get rawHeaders(): string[] {
    return this.message.rawHeaders;
  }

  override get httpVersion(): string {
    return this.message.httpVersion;
  }
}
