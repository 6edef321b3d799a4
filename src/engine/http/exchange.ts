import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { Socket } from 'node:net';
import { reportFailure } from '../../base/owner.js';
import type { EngineRequest } from './request.js';

/** Response headers by name. Several values become several headers. */
export type ResponseHeaders = Record<string, string | string[]>;

/** A whole response. */
export type Answer = [status: number, headers: ResponseHeaders, body: string];

/** Source: RFC 6455, section 4.2.2. */
export const wrongVersion: Answer = [
  426,
  { 'Sec-WebSocket-Version': '13' },
  'This server speaks version 13 of the protocol.',
];

/** A response to which Connect middleware has added headers. */
export interface CollectedResponse {
  /** Finalizes the headers. Middleware may have wrapped this method, as express-session does. */
  writeHead(status: number, headers: ResponseHeaders): this;
  end(body?: string | Uint8Array): this;
  /** Whether middleware has begun to answer itself. */
  readonly headersSent: boolean;
  emit(event: 'close'): boolean;
  listenerCount(event: 'close'): number;
  /** The headers under the names with which they were set. */
  collected(): ResponseHeaders;
}

/** Why a request's body could not be read. */
export type BodyError = 'length required' | 'too large' | 'length mismatch' | 'aborted' | 'overloaded';

export type BodyCallback = (error: BodyError | undefined, body: Buffer) => void;

/**
 * One HTTP request and its response. The request arrived on this worker's own port, or another worker relays it. The
 * engine treats both alike.
 */
export interface HttpExchange {
  readonly request: EngineRequest;
  /** Whether another worker has the client's connection. */
  readonly isRelayed?: boolean;
  /** True once the response was sent, or the client is gone. */
  readonly finished: boolean;
  /** Called once if the client disconnects before the response was sent. */
  onAborted: (() => void) | undefined;
  /** Called when the connection is about to close. A waiting request must be answered now. */
  onAnswerNow: (() => void) | undefined;
  /** The response to which Connect middleware has added headers; undefined without middleware. */
  middlewareResponse: CollectedResponse | undefined;
  /**
   * Calls back once with the body of a POST, PUT or PATCH, which is collected and bounded from the start of the request. Does not
   * call back after the response was sent.
   */
  readBody(done: BodyCallback): void;
  /** Sends the response. Does nothing once finished. */
  send(status: number, headers: ResponseHeaders, body: string | Uint8Array): void;
  /** Begins a response of unknown length, in place of {@link send}. Missing for relayed requests. */
  stream?(status: number, headers: ResponseHeaders): BodyStream;
  /** Closes the connection at once. */
  destroy(): void;
  /** Called once when the whole response is written, or the client is gone. */
  onComplete?: (() => void) | undefined;
  /**
   * Calls back once when the worker with the client's connection has written the response, or the client is gone. Call
   * it right after {@link send}. Missing where `send` writes it itself.
   */
  whenWritten?(callback: () => void): void;
}

/** The body of a response, written in parts. */
export interface BodyStream {
  /** Resolves when the client has read enough for the next part: true, or false if the client is gone. */
  write(part: string): Promise<boolean>;
  end(): void;
  /** Cuts the response off, so that the client does not take it for a whole one. */
  abort(): void;
}

/** An {@link HttpExchange} that asks for a WebSocket. */
export interface UpgradeExchange extends HttpExchange {
  /**
   * Turns the connection into a WebSocket. Calls `receiver.onOpen` before it returns, or never if the client is gone.
   */
  accept(headers: ResponseHeaders, receiver: FrameReceiver): void;
}

/** The events of a WebSocket. The bytes of a message are valid only during the call, so copy what is kept. */
export interface FrameReceiver {
  onOpen(webSocket: WebSocketConnection): void;
  onMessage(message: ArrayBuffer | Buffer, isBinary: boolean): void;
  /** The client has read some of the waiting bytes. */
  onDrain(): void;
  /** A message could not be added because more than `maxBackpressure` bytes wait for the client. */
  onOverflow(): void;
  /** The client has sent a ping or a pong. */
  onControlFrame?(): void;
  /** The client sends faster than this worker can follow. Close the WebSocket. */
  onFlood(): void;
  /** The WebSocket is closed and must not be used. Messages received earlier still follow, and then `onClose`. */
  onDetached(): void;
  /** Called once. The WebSocket must not be used afterwards. */
  onClose(code: number, reason: string): void;
}

/** An open WebSocket: one of uWebSockets.js, or one that another worker holds. */
export interface WebSocketConnection {
  /** Sends a message. Like uWebSockets.js, returns 2 if it was dropped because of `maxBackpressure`. */
  send(message: string | Uint8Array, isBinary: boolean, compress: boolean): number;
  /** Bytes that wait for a slow client. */
  getBufferedAmount(): number;
  /** Closes gracefully, with a close frame. */
  end(code?: number, reason?: string): void;
  /** Closes at once, without a close frame. */
  close(): void;
  /** Makes the worker that holds a relayed WebSocket dismiss its client. */
  dismiss?(): void;
  /** Sends all messages of the callback in as few writes as possible. */
  cork(callback: () => void): unknown;
}

/** A WebSocket to which uWebSockets.js can publish. */
export interface NativeWebSocket extends WebSocketConnection {
  ping(): unknown;
  subscribe(topic: string): boolean;
  unsubscribe(topic: string): boolean;
  getTopics(): string[];
  /** Whether another process could go on with it now; undefined if none ever can. */
  readonly canLeave?: boolean | undefined;
  /** Ends it in this process alone. Call it only if {@link canLeave}. */
  leave?(): LeftWebSocket;
}

/** A WebSocket that another process goes on with. */
export interface LeftWebSocket {
  /** The connection, which is not read from any more. */
  readonly socket: Socket;
  /** The beginning of a frame. */
  readonly rest: Buffer;
  readonly compresses: boolean;
}

/** Whether topics reach the WebSocket. They do not reach a relayed one. */
export function isNative(webSocket: WebSocketConnection): webSocket is NativeWebSocket {
  return 'subscribe' in webSocket;
}

const statusTexts: Record<number, string> = {
  101: 'Switching Protocols',
  200: 'OK',
  204: 'No Content',
  304: 'Not Modified',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  411: 'Length Required',
  413: 'Payload Too Large',
  421: 'Misdirected Request',
  422: 'Unprocessable Content',
  426: 'Upgrade Required',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
  507: 'Insufficient Storage',
};

/** The text of a status line, such as `200 OK`. */
export function statusLine(status: number): string {
  return `${status} ${statusTexts[status] ?? 'Unknown'}`;
}

/**
 * Drops headers that cannot be written, and reports them. A value with a line end, which the application may have taken from
 * the request, would write headers and a body of its own.
 */
export function withoutInvalid(headers: ResponseHeaders): ResponseHeaders {
  for (const [name, value] of Object.entries(headers)) {
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value as string);
    } catch (error) {
      delete headers[name];
      reportFailure('adding a header to a response', error);
    }
  }
  return headers;
}

/** The HTTP connections of this process. */
export const connections = {
  /** The number of requests without a complete response. */
  waiting: 0,
  /** Whether each response closes its connection, so that clients open new ones to another process. */
  areEnding: false,
};
