/**
 * The part of uWebSockets.js's interface that gjallar uses. It is declared here so that an application needs no copy of
 * uWebSockets.js to compile against gjallar. What each call does is documented by uWebSockets.js.
 */

/** What can be written: text, or bytes that are copied before the call returns. */
export type Writable = string | ArrayBuffer | ArrayBufferView;

/** A port or path that is listened on; `us_listen_socket_close` ends it. */
// biome-ignore lint/suspicious/noEmptyInterface: only uWebSockets.js knows what is inside.
export interface us_listen_socket {}

/** What `HttpResponse.upgrade` needs of the `upgrade` handler's third argument. */
// biome-ignore lint/suspicious/noEmptyInterface: only uWebSockets.js knows what is inside.
export interface us_socket_context_t {}

export interface HttpRequest {
  /** @param name in lower case. Returns '' where there is no such header. */
  getHeader(name: string): string;
  getUrl(): string;
  /** In lower case. */
  getMethod(): string;
  getCaseSensitiveMethod(): string;
  /** Without the question mark. */
  getQuery(): string;
  /** A value of the query, decoded. */
  getQuery(key: string): string | undefined;
  forEach(each: (name: string, value: string) => void): void;
  /** Passes the request on to the next route that matches. */
  setYield(isYielded: boolean): HttpRequest;
}

export interface HttpResponse {
  pause(): void;
  resume(): void;
  writeStatus(status: Writable): HttpResponse;
  writeHeader(name: Writable, value: Writable): HttpResponse;
  write(chunk: Writable): boolean;
  end(body?: Writable, closeConnection?: boolean): HttpResponse;
  endWithoutBody(reportedContentLength?: number, closeConnection?: boolean): HttpResponse;
  /** @returns whether all was written, and whether the response is complete */
  tryEnd(chunk: Writable, totalSize: number): [boolean, boolean];
  /** Cuts the connection off. */
  close(): HttpResponse;
  getWriteOffset(): number;
  onWritable(handler: (offset: number) => boolean): HttpResponse;
  onAborted(handler: () => void): HttpResponse;
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): HttpResponse;
  getRemoteAddress(): ArrayBuffer;
  getRemoteAddressAsText(): ArrayBuffer;
  cork(write: () => void): HttpResponse;
  upgrade<UserData>(
    userData: UserData,
    secWebSocketKey: string,
    secWebSocketProtocol: string,
    secWebSocketExtensions: string,
    context: us_socket_context_t,
  ): void;
}

export interface WebSocket<UserData> {
  /** @returns 1 where it was sent, 0 where it waits, 2 where it was dropped */
  send(message: Writable, isBinary?: boolean, compress?: boolean): number;
  getBufferedAmount(): number;
  end(code?: number, reason?: Writable): void;
  /** Cuts the connection off, without a close frame. */
  close(): void;
  ping(message?: Writable): number;
  subscribe(topic: string): boolean;
  unsubscribe(topic: string): boolean;
  isSubscribed(topic: string): boolean;
  getTopics(): string[];
  publish(topic: string, message: Writable, isBinary?: boolean, compress?: boolean): boolean;
  cork(write: () => void): WebSocket<UserData>;
  getRemoteAddress(): ArrayBuffer;
  getRemoteAddressAsText(): ArrayBuffer;
  getUserData(): UserData;
}

export interface WebSocketBehavior<UserData> {
  /** Bytes of a message; a longer one ends the connection. */
  maxPayloadLength?: number;
  closeOnBackpressureLimit?: boolean;
  /** Minutes; 0 for no limit. */
  maxLifetime?: number;
  /** Seconds without a byte from the client; 0 for no limit. */
  idleTimeout?: number;
  /** The sum of a compressor's and a decompressor's value. */
  compression?: number;
  /** Bytes that may wait for one client; 0 for no limit. */
  maxBackpressure?: number;
  sendPingsAutomatically?: boolean;
  upgrade?: (res: HttpResponse, req: HttpRequest, context: us_socket_context_t) => void;
  open?: (ws: WebSocket<UserData>) => void;
  /** The bytes are valid during this call only. */
  message?: (ws: WebSocket<UserData>, message: ArrayBuffer | Buffer, isBinary: boolean) => void;
  dropped?: (ws: WebSocket<UserData>, message: ArrayBuffer, isBinary: boolean) => void;
  drain?: (ws: WebSocket<UserData>) => void;
  close?: (ws: WebSocket<UserData>, code: number, message: ArrayBuffer) => void;
  ping?: (ws: WebSocket<UserData>, message: ArrayBuffer) => void;
  pong?: (ws: WebSocket<UserData>, message: ArrayBuffer) => void;
  subscription?: (ws: WebSocket<UserData>, topic: ArrayBuffer, newCount: number, oldCount: number) => void;
}

export interface AppOptions {
  key_file_name?: string;
  cert_file_name?: string;
  ca_file_name?: string;
  passphrase?: string;
  dh_params_file_name?: string;
  ssl_ciphers?: string;
  ssl_prefer_low_memory_usage?: boolean;
}

type Route = (res: HttpResponse, req: HttpRequest) => void;
/** Gets false if the address cannot be listened on. */
export type Listening = (socket: us_listen_socket | false) => void;

/** An application of uWebSockets.js, or the engine's routes on node:http, whose methods for routes throw. */
export interface TemplatedApp {
  listen(host: string, port: number, listening: Listening): TemplatedApp;
  listen(port: number, listening: Listening): TemplatedApp;
  listen(port: number, options: number, listening: Listening): TemplatedApp;
  listen_unix(listening: (socket: us_listen_socket) => void, path: string): TemplatedApp;
  get(pattern: string, handler: Route): TemplatedApp;
  post(pattern: string, handler: Route): TemplatedApp;
  options(pattern: string, handler: Route): TemplatedApp;
  del(pattern: string, handler: Route): TemplatedApp;
  patch(pattern: string, handler: Route): TemplatedApp;
  put(pattern: string, handler: Route): TemplatedApp;
  head(pattern: string, handler: Route): TemplatedApp;
  any(pattern: string, handler: Route): TemplatedApp;
  ws<UserData>(pattern: string, behavior: WebSocketBehavior<UserData>): TemplatedApp;
  publish(topic: string, message: Writable, isBinary?: boolean, compress?: boolean): boolean;
  numSubscribers(topic: string): number;
  filter(handler: (res: HttpResponse, count: number) => void): TemplatedApp;
  /** Cuts off all connections, and listens no more. */
  close(): TemplatedApp;
}

/** What a source of sockets has to offer. */
export interface Sockets {
  App(options?: AppOptions): TemplatedApp;
  SSLApp(options: AppOptions): TemplatedApp;
  us_listen_socket_close(socket: us_listen_socket): void;
  us_socket_local_port(socket: us_listen_socket): number;
}
