/**
 * The private parts of node:http that the HTTP bridge relies on. The bridge creates a real IncomingMessage and a real
 * ServerResponse for a request that uWebSockets.js has parsed. Checked against Node.js 20.20 and 22.23.
 * `test/compat/node.test.ts` fails if one is missing.
 */
import {
  createServer,
  IncomingMessage,
  type OutgoingHttpHeaders,
  OutgoingMessage,
  type Server,
  ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';

interface PrivateMessage {
  _addHeaderLines(headers: string[], count: number): void;
  /** Reads and drops the rest of the body. */
  _dump(): void;
  /** Whether the application has begun to read the body. */
  _consumed: boolean;
  joinDuplicateHeaders?: boolean;
}

interface PrivateResponse {
  _storeHeader(firstLine: string, headers: OutgoingHttpHeaders): void;
  /** The head as text, ready to be written. */
  _header: string;
  _headerSent: boolean;
  chunkedEncoding: boolean;
  /** The lines that addTrailers() has stored, each with its end. */
  _trailer: string;
  /** The timeout in the header Keep-Alive, in ms. */
  _keepAliveTimeout: number;
  _closed: boolean;
}

type MessageClass = new (socket: Socket) => IncomingMessage;
type ResponseClass = new (message: IncomingMessage) => ServerResponse;

const needsDrain = symbolOf(new OutgoingMessage(), 'kNeedDrain') as keyof OutgoingMessage | undefined;

/** node:http's own listener of `connection`, which reads HTTP from the socket. It is the same for all servers. */
const parsesRequests = createServer().listeners('connection')[0];

/** The classes of a server's messages and responses. */
export interface HttpClasses {
  readonly Message: MessageClass;
  readonly Response: ResponseClass;
}

/** The classes of a server's messages and responses. The options of `createServer()` may replace those of node:http. */
export function classesOf(server: Server): HttpClasses {
  const options = server as unknown as Record<symbol, unknown>;
  const message = symbolOf(server, 'IncomingMessage');
  const response = symbolOf(server, 'ServerResponse');
  return {
    Message: ((message && options[message]) ?? IncomingMessage) as MessageClass,
    Response: ((response && options[response]) ?? ServerResponse) as ResponseClass,
  };
}

/** Creates the message of a request, as node:http's parser does. In `rawHeaders`, names and values alternate. */
export function createMessage(
  Message: MessageClass,
  server: Server,
  socket: Socket,
  request: { method: string; url: string; rawHeaders: string[] },
): IncomingMessage {
  const message = new Message(socket);
  message.httpVersionMajor = 1;
  message.httpVersionMinor = 1;
  message.httpVersion = '1.1';
  message.method = request.method;
  message.url = request.url;
  const inside = message as unknown as PrivateMessage;
  const { joinDuplicateHeaders } = server as unknown as PrivateMessage;
  if (joinDuplicateHeaders) inside.joinDuplicateHeaders = joinDuplicateHeaders;
  inside._addHeaderLines(request.rawHeaders, request.rawHeaders.length);
  return message;
}

/** Drops the rest of a request's body, unless the application reads it, so that `end` and `close` are emitted. */
export function dumpUnread(message: IncomingMessage): void {
  const inside = message as unknown as PrivateMessage;
  if (!inside._consumed) inside._dump();
}

/**
 * Passes the head of a response to `onHead` as text, instead of writing it to the socket. The socket then gets only the
 * body, without chunk sizes and trailers.
 * @returns the trailers that end the body
 */
export function captureHead(server: Server, response: ServerResponse, onHead: (head: string) => void): () => string {
  const inside = response as unknown as PrivateResponse;
  inside._keepAliveTimeout = server.keepAliveTimeout;
  const store = inside._storeHeader;
  let hasChunks = false;
  inside._storeHeader = (firstLine, headers) => {
    store.call(inside, firstLine, headers);
    inside._headerSent = true;
    hasChunks = inside.chunkedEncoding;
    inside.chunkedEncoding = false;
    onHead(inside._header);
  };
  return () => (hasChunks ? inside._trailer : '');
}

/** Tells a response that its client has read the waiting bytes. */
export function drain(response: ServerResponse): void {
  if (response.writableFinished) return;
  // `writableNeedDrain` reads it, and pipe() waits for `drain` while it is set.
  if (needsDrain) (response as unknown as Record<PropertyKey, unknown>)[needsDrain] = false;
  response.emit('drain');
}

/** Emits `close` on a complete response. */
export function closeResponse(response: ServerResponse): void {
  if (response.destroyed) return;
  response.destroyed = true;
  (response as unknown as PrivateResponse)._closed = true;
  response.emit('close');
}

/**
 * Calls the application's `connection` listeners with a socket, but not node:http's own, which would parse it. Returns
 * whether there is such a listener.
 */
export function announceConnection(server: Server, socket: Socket): boolean {
  if (server.listenerCount('connection') <= 1) return false;
  const listeners = server.rawListeners('connection').filter((listener) => listener !== parsesRequests);
  for (const listener of listeners) listener.call(server, socket);
  return listeners.length > 0;
}

/** The names of the private parts that are missing in this version of Node.js. */
export function missingInHttp(): string[] {
  const missing: string[] = [];
  const message = IncomingMessage.prototype as unknown as PrivateMessage;
  const response = ServerResponse.prototype as unknown as PrivateResponse;
  if (typeof message._addHeaderLines !== 'function') missing.push('_addHeaderLines');
  if (typeof message._dump !== 'function') missing.push('_dump');
  if (typeof response._storeHeader !== 'function') missing.push('_storeHeader');
  if (!needsDrain) missing.push('kNeedDrain');
  if (!parsesRequests) missing.push('connectionListener');
  const server = createServer();
  for (const name of ['IncomingMessage', 'ServerResponse']) if (!symbolOf(server, name)) missing.push(name);
  return missing;
}

function symbolOf(object: object, description: string): symbol | undefined {
  return Object.getOwnPropertySymbols(object).find((symbol) => symbol.description === description);
}
