import { EventEmitter } from 'node:events';
import type { CollectedResponse, HttpExchange, ResponseHeaders } from './exchange.js';
import type { EngineRequest } from './request.js';

/** Connect middleware, such as `cors()`, `helmet()` or `session()`. An error ends the request with "Bad request". */
export type Middleware = (
  // Middleware is written against node:http's classes, of which a request here has the part that middleware uses.
  // biome-ignore lint/suspicious/noExplicitAny: the types of node:http would promise more than there is
  request: any,
  // biome-ignore lint/suspicious/noExplicitAny: as above
  response: any,
  next: (error?: unknown) => void,
) => void;

/**
 * What Connect middleware sees of a response: the part of node:http's ServerResponse that middleware uses. Headers are
 * kept until the engine answers. Middleware may wrap `writeHead` and `end` (express-session does both), therefore the
 * engine calls both on this object.
 */
export class MiddlewareResponse extends EventEmitter implements CollectedResponse {
  statusCode = 200;
  statusMessage = '';
  headersSent = false;
  /** True once the response was ended. */
  finished = false;
  private readonly headers = new Map<string, { name: string; value: string | string[] }>();
  private readonly written: Uint8Array[] = [];

  constructor(
    private readonly exchange: HttpExchange,
    readonly req: EngineRequest,
  ) {
    super();
  }

  get writableEnded(): boolean {
    return this.finished;
  }

  setHeader(name: string, value: number | string | readonly string[]): this {
    this.headers.set(name.toLowerCase(), { name, value: Array.isArray(value) ? value.map(String) : String(value) });
    return this;
  }

  getHeader(name: string): string | string[] | undefined {
    return this.headers.get(name.toLowerCase())?.value;
  }

  hasHeader(name: string): boolean {
    return this.headers.has(name.toLowerCase());
  }

  removeHeader(name: string): void {
    this.headers.delete(name.toLowerCase());
  }

  getHeaderNames(): string[] {
    return [...this.headers.keys()];
  }

  getHeaders(): ResponseHeaders {
    return Object.fromEntries([...this.headers].map(([key, { value }]) => [key, value]));
  }

  writeHead(status: number, reasonOrHeaders?: string | ResponseHeaders, headers?: ResponseHeaders): this {
    this.statusCode = status;
    const given = typeof reasonOrHeaders === 'string' ? headers : (reasonOrHeaders ?? headers);
    for (const [name, value] of Object.entries(given ?? {})) this.setHeader(name, value);
    this.headersSent = true;
    return this;
  }

  /** node:http's own name for what makes the headers final; express-session calls it. */
  _implicitHeader(): void {
    if (!this.headersSent) this.writeHead(this.statusCode);
  }

  /** Keeps a part of the body until the end. */
  write(chunk: string | Uint8Array, encoding?: BufferEncoding): boolean {
    this._implicitHeader();
    this.written.push(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk);
    return true;
  }

  end(body: string | Uint8Array | null = ''): this {
    if (this.finished) return this;
    this._implicitHeader();
    this.finished = true;
    const { written } = this;
    const rest = body ?? '';
    const whole = written.length > 0 ? Buffer.concat([...written, Buffer.from(rest as string)]) : rest;
    this.exchange.send(this.statusCode, this.collected(), whole);
    this.emit('finish');
    this.emit('close');
    return this;
  }

  /** The headers under the names they were given with. */
  collected(): ResponseHeaders {
    return Object.fromEntries([...this.headers.values()].map(({ name, value }) => [name, value]));
  }
}

/** Runs the middleware in order, each after the one before it called `next`. */
export function applyMiddleware(
  middleware: readonly Middleware[],
  exchange: HttpExchange,
  done: (error?: unknown) => void,
): void {
  if (middleware.length === 0) return done();
  const response = new MiddlewareResponse(exchange, exchange.request);
  exchange.middlewareResponse = response;
  exchange.request.res = response;
  const apply = (index: number): void => {
    const next = middleware[index];
    if (!next) return done();
    let isOver = false;
    try {
      next(exchange.request, response, (error) => {
        if (isOver) return;
        isOver = true;
        if (error) done(error);
        else apply(index + 1);
      });
    } catch (error) {
      // What comes after the middleware throws to its own callers.
      if (isOver) throw error;
      isOver = true;
      done(error);
    }
  };
  apply(0);
}

/** Answers an exchange, through what middleware has made of the response where there is any. */
export function respond(
  exchange: HttpExchange,
  status: number,
  headers: ResponseHeaders,
  body: string | Uint8Array,
): void {
  if (exchange.finished) return;
  const response = exchange.middlewareResponse;
  if (response) response.writeHead(status, headers).end(body);
  else exchange.send(status, headers, body);
}
