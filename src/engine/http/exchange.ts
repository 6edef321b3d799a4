import type { EngineRequest } from './request.js';

/** Response headers by name; several values make several headers. */
export type ResponseHeaders = Record<string, string | string[]>;

/** A response that Connect middleware has put headers on. */
export interface CollectedResponse {
  /** Makes the headers final. Middleware may have wrapped it, as express-session does. */
  writeHead(status: number, headers: ResponseHeaders): this;
  end(body: string | Uint8Array): this;
  /** The headers under the names they were given with. */
  collected(): ResponseHeaders;
}

/** Why a request's body could not be had. */
export type BodyError = 'length required' | 'too large' | 'length mismatch' | 'aborted';

export type BodyCallback = (error: BodyError | undefined, body: Buffer) => void;

/**
 * One HTTP request and the response to it, wherever it arrived: on this worker's own port, or on another worker's,
 * which relays it. The engine knows nothing else of where its requests come from.
 */
export interface HttpExchange {
  readonly request: EngineRequest;
  /** True once nobody waits for the response any more, or once it was sent. */
  readonly finished: boolean;
  /** Called once when the client goes away before the response was sent. */
  onAborted: (() => void) | undefined;
  /** Called when the connection is about to go: who lets the request wait for something answers it now. */
  onAnswerNow: (() => void) | undefined;
  /** Where Connect middleware has put headers for the response, if there is any middleware. */
  middlewareResponse: CollectedResponse | undefined;
  /** Gives the body of a POST, once. Collecting it starts with the request; its length is bounded from then on. Once the response was sent it is not called back any more. */
  readBody(done: BodyCallback): void;
  /** Sends the response. Does nothing once finished. */
  send(status: number, headers: ResponseHeaders, body: string | Uint8Array): void;
  /** Cuts the connection off. */
  destroy(): void;
  /** Called once when the response is handed over in full, or the client is gone. */
  onComplete?: (() => void) | undefined;
}

/** An {@link HttpExchange} that asks for a WebSocket. */
export interface UpgradeExchange extends HttpExchange {
  /**
   * Turns the connection into a WebSocket. `receiver.onOpen` is called before this returns, or never where the client
   * has gone.
   */
  accept(headers: ResponseHeaders, receiver: FrameReceiver): void;
}

/** What a WebSocket tells its owner. The bytes of a message are gone after the call: copy what is kept. */
export interface FrameReceiver {
  onOpen(webSocket: WebSocketConnection): void;
  onMessage(message: ArrayBuffer | Buffer, isBinary: boolean): void;
  /** The client has taken some of what waited for it. */
  onDrain(): void;
  /** More waits for the client than may wait, and something was to be added. */
  onOverflow(): void;
  /** The client has sent a ping or a pong. */
  onControlFrame?(): void;
  /** The client sends faster than this worker can follow: close the WebSocket. */
  onFlood(): void;
  /** The WebSocket is gone and may not be used any more, but messages that came before still follow, and then `onClose`. */
  onDetached(): void;
  /** Called once, after which the WebSocket may not be used. */
  onClose(code: number, reason: string): void;
}

/** An open WebSocket: a uWebSockets.js one as it is, or one that another worker holds. */
export interface WebSocketConnection {
  /** Sends a message. Returns 2 when it was dropped for `maxBackpressure`, as uWebSockets.js does. */
  send(message: string | Uint8Array, isBinary: boolean, compress: boolean): number;
  /** Bytes that wait for a slow client. */
  getBufferedAmount(): number;
  /** Closes in order, with a close frame. */
  end(code?: number, reason?: string): void;
  /** Cuts off. */
  close(): void;
  /** Everything sent in the callback goes out in as few writes as possible. */
  cork(callback: () => void): unknown;
}

/** A webSocket that uWebSockets.js can publish to. */
export interface NativeWebSocket extends WebSocketConnection {
  ping(): unknown;
  subscribe(topic: string): boolean;
  unsubscribe(topic: string): boolean;
  getTopics(): string[];
}

/** Whether topics reach the webSocket: a relayed one has none here. */
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
};

/** A status line's text, such as `200 OK`. */
export function statusLine(status: number): string {
  return `${status} ${statusTexts[status] ?? 'Unknown'}`;
}
