import { EventEmitter } from 'node:events';
import { reportFailure } from '../../base/owner.js';
import { type CollectedResponse, type HttpExchange, type ResponseHeaders, withoutInvalid } from './exchange.js';
import type { EngineRequest } from './request.js';

/**
 * Connect middleware, such as `cors()`, `helmet()` or `session()`. An error ends the request with "Bad request", and so does
 * a promise that is rejected.
 */
export type Middleware = (
  // Middleware expects node:http's classes. A request has only the part of them that middleware uses.
  // biome-ignore lint/suspicious/noExplicitAny: the types of node:http would promise more than a request has
  request: any,
  // biome-ignore lint/suspicious/noExplicitAny: as above
  response: any,
  next: (error?: unknown) => void,
) => unknown;

type Done = () => void;

/**
 * A response as Connect middleware sees it: the part of node:http's ServerResponse that middleware uses. Headers are
 * kept until the engine answers. Middleware may wrap `writeHead` and `end` (express-session does both), so the engine
 * calls both on this object.
 */
class MiddlewareResponse extends EventEmitter implements CollectedResponse {
  statusCode = 200;
  statusMessage = '';
  headersSent = false;
  /** True once the response has ended. */
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
    return this.keep(name.toLowerCase(), name, value);
  }

  private keep(key: string, name: string, value: number | string | readonly string[]): this {
    this.headers.set(key, { name, value: Array.isArray(value) ? value.map(String) : String(value) });
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
    // As in node:http, they replace headers that were set before, but not each other.
    const isAlone = this.headers.size === 0;
    for (const [name, value] of Object.entries(given ?? {})) {
      this.keep(isAlone ? name : name.toLowerCase(), name, value);
    }
    this.headersSent = true;
    return this;
  }

  /** Finalizes the headers, under the private name of node:http, because express-session calls it. */
  _implicitHeader(): void {
    if (!this.headersSent) this.writeHead(this.statusCode);
  }

  /** Keeps a part of the body until `end` is called. */
  write(chunk: string | Uint8Array, encoding?: BufferEncoding | Done, done?: Done): boolean {
    const written = typeof encoding === 'function' ? encoding : done;
    this._implicitHeader();
    this.written.push(typeof chunk === 'string' ? Buffer.from(chunk, encodingOf(encoding)) : chunk);
    if (written) process.nextTick(written);
    return true;
  }

  end(body?: string | Uint8Array | null | Done, encoding?: BufferEncoding | Done, done?: Done): this {
    const ended = [body, encoding, done].find((value) => typeof value === 'function');
    if (ended) process.nextTick(ended);
    if (this.finished) return this;
    this._implicitHeader();
    this.finished = true;
    const { written } = this;
    const last = typeof body === 'function' ? '' : (body ?? '');
    const rest = encodingOf(encoding) ? Buffer.from(last as string, encodingOf(encoding)) : last;
    const whole = written.length > 0 ? Buffer.concat([...written, Buffer.from(rest as string)]) : rest;
    this.exchange.send(this.statusCode, this.collected(), whole);
    this.emit('finish');
    this.emit('close');
    return this;
  }

  /** The headers under the names with which they were set. */
  collected(): ResponseHeaders {
    return withoutInvalid(Object.fromEntries([...this.headers.values()].map(({ name, value }) => [name, value])));
  }
}

const encodingOf = (value: BufferEncoding | Done | undefined) => (typeof value === 'string' ? value : undefined);

/** The response to which middleware and `allowRequest` can add headers. */
export function responseOf(exchange: HttpExchange): CollectedResponse {
  exchange.middlewareResponse ??= new MiddlewareResponse(exchange, exchange.request);
  exchange.request.res = exchange.middlewareResponse;
  return exchange.middlewareResponse;
}

interface Closing {
  /** Undefined once it is closed. */
  readonly webSocket: object | undefined;
  once(event: 'close', listener: () => void): unknown;
}

/** As in engine.io, the response to an upgrade emits `close` when the WebSocket ends, if middleware listens. */
export function closeResponseAfter(exchange: HttpExchange, transport: Closing): void {
  const response = exchange.middlewareResponse;
  if (!response || response.listenerCount('close') === 0) return;
  const close = () => response.emit('close');
  if (transport.webSocket) transport.once('close', close);
  else close();
}

/** Runs the middleware in order. Each one runs when the previous one calls `next`. */
export function applyMiddleware(
  middleware: readonly Middleware[],
  exchange: HttpExchange,
  done: (error?: unknown) => void,
): void {
  if (middleware.length === 0) return done();
  const response = responseOf(exchange);
  const apply = (index: number): void => {
    const next = middleware[index];
    if (!next) return done();
    answered(
      (answer: (error?: unknown) => void) => next(exchange.request, response, answer),
      (error) => (error ? done(error) : apply(index + 1)),
      done,
    );
  };
  apply(0);
}

/**
 * Calls a function of the application that answers by a callback.
 * @param fail gets what it throws, or rejects with, before it answers
 */
export function answered<Args extends unknown[]>(
  call: (answer: (...args: Args) => void) => unknown,
  answer: (...args: Args) => void,
  fail: (error: unknown) => void,
): void {
  let isOver = false;
  const once = (reply: () => void) => {
    if (isOver) return;
    isOver = true;
    reply();
  };
  const failed = (error: unknown) => once(() => fail(error ?? new Error('It failed without an error.')));
  try {
    const result = call((...args) => once(() => answer(...args))) as PromiseLike<unknown> | undefined;
    // After its answer, a client must not end the process with it.
    if (typeof result?.then === 'function') {
      result.then(undefined, (error: unknown) => (isOver ? reportFailure('middleware', error) : failed(error)));
    }
  } catch (error) {
    // The error came from code after the answer, so it belongs to that code's caller.
    if (isOver) throw error;
    failed(error);
  }
}

/** Answers an exchange, through the middleware's response if there is one. */
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
