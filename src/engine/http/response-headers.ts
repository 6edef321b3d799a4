import { serialize } from 'cookie';
import type { CookieSettings } from '../options.js';
import { type HttpExchange, type ResponseHeaders, withoutInvalid } from './exchange.js';
import type { EngineRequest } from './request.js';

/** Creates the headers of the engine's own responses: its cookie, and headers that listeners of its events add. */
export class HeaderMaker {
  /** @param emit the engine's events `initial_headers` and `headers` */
  constructor(
    private readonly cookie: CookieSettings | undefined,
    private readonly emit: (event: string, headers: ResponseHeaders, request: EngineRequest) => void,
  ) {}

  addTo(headers: ResponseHeaders, request: EngineRequest, id: string): void {
    const { cookie } = this;
    const isInitial = !request._query.sid;
    // engine.io sets its cookie over polling only.
    if (cookie && isInitial && request._query.transport === 'polling') {
      headers['Set-Cookie'] = [serialize(cookie.name, id, cookie)];
    }
    if (isInitial) this.emit('initial_headers', headers, request);
    this.emit('headers', headers, request);
    withoutInvalid(headers);
  }

  /** The headers of a response that opens a WebSocket. */
  ofUpgrade(exchange: HttpExchange, id: string): ResponseHeaders {
    const headers: ResponseHeaders = {};
    this.addTo(headers, exchange.request, id);
    const response = exchange.middlewareResponse;
    // Middleware such as express-session adds its headers when writeHead() is called.
    return response ? response.writeHead(101, headers).collected() : headers;
  }
}
