import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { HttpResponse, us_socket_context_t, Writable } from '../../sockets.js';
import { isBehind } from '../behind.js';
import { arrayBufferOf, bytesOf, packed, textOf, viewOf } from '../bytes.js';
import { watchReader } from './slow-reader.js';

/** How much of a body with a known length is handed to node:http while the client has not read the part before. */
const PART_BYTES = 262_144;
const NOTHING = new ArrayBuffer(0);

/** A response of node:http as uWebSockets.js offers it. */
export class PortableResponse implements HttpResponse {
  protected status = '200 OK';
  protected readonly headers: string[] = [];
  private offset = 0;
  protected isEnded = false;
  private aborted: (() => void) | undefined;
  private writable: ((offset: number) => boolean) | undefined;
  private isWatched = false;

  /**
   * @param made by node:http, or undefined if the subclass makes it once it is used
   * @param onEnd called once the response is complete, with whether its connection ends
   */
  constructor(
    protected readonly message: IncomingMessage,
    protected readonly socket: Socket,
    private made?: ServerResponse,
    private readonly onEnd?: (isLast: boolean) => void,
  ) {
    made?.on('close', () => this.abort());
  }

  protected make(): ServerResponse {
    throw new Error('this response has been made by node:http');
  }

  private get response(): ServerResponse {
    this.made ??= this.make().on('close', () => this.abort());
    return this.made;
  }

  /** Whether node:http has written all of a response that is complete. */
  get isWritten(): boolean {
    return this.response.writableFinished;
  }

  whenWritten(then: () => void): void {
    this.response.once('finish', then);
  }

  /** Gives the connection up to a WebSocket. */
  protected detach(): void {
    this.finish();
    this.made?.detachSocket(this.socket);
  }

  pause(): void {
    this.message.pause();
  }

  resume(): void {
    this.message.resume();
  }

  writeStatus(status: Writable): HttpResponse {
    this.status = textOf(status);
    return this;
  }

  writeHeader(name: Writable, value: Writable): HttpResponse {
    this.headers.push(textOf(name), textOf(value));
    return this;
  }

  write(chunk: Writable): boolean {
    if (this.isEnded) return true;
    this.sendHead();
    return this.pass(bytesOf(chunk));
  }

  end(body: Writable = '', closeConnection = false): HttpResponse {
    if (this.isEnded) return this;
    const bytes = bytesOf(body);
    this.offset += bytes.byteLength;
    return this.complete(bytes, bytes.byteLength, closeConnection);
  }

  endWithoutBody(reportedContentLength?: number, closeConnection = false): HttpResponse {
    return this.isEnded ? this : this.complete(undefined, reportedContentLength, closeConnection);
  }

  /** As in uWebSockets.js, only what the client reads is taken, so that no more than a part of the body is kept twice. */
  tryEnd(chunk: Writable, totalSize: number): [boolean, boolean] {
    if (this.isEnded) return [true, true];
    this.sendHead(totalSize);
    const view = viewOf(chunk);
    for (let at = 0; at < view.byteLength; at += PART_BYTES) {
      const part = bytesOf(view.subarray(at, at + PART_BYTES));
      const isLast = this.offset + part.byteLength >= totalSize;
      if (isLast) {
        this.offset = totalSize;
        this.complete(part, totalSize, false);
        return [true, true];
      }
      const isRead = this.pass(part);
      if (!isRead) return [false, false];
    }
    return [true, false];
  }

  close(): HttpResponse {
    this.socket.destroy();
    this.abort();
    return this;
  }

  getWriteOffset(): number {
    return this.offset;
  }

  onWritable(handler: (offset: number) => boolean): HttpResponse {
    if (!this.writable) this.response.on('drain', () => !this.isEnded && this.writable?.(this.offset));
    this.writable = handler;
    return this;
  }

  onAborted(handler: () => void): HttpResponse {
    this.aborted = handler;
    return this;
  }

  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): HttpResponse {
    const { message } = this;
    message.on('data', (chunk: Buffer) => this.isEnded || handler(arrayBufferOf(chunk), false));
    message.on('end', () => this.isEnded || handler(NOTHING, true));
    return this;
  }

  getRemoteAddress(): ArrayBuffer {
    return packed(this.socket.remoteAddress);
  }

  getRemoteAddressAsText(): ArrayBuffer {
    return arrayBufferOf(Buffer.from(this.socket.remoteAddress ?? ''));
  }

  cork(write: () => void): HttpResponse {
    const { socket } = this;
    socket.cork();
    try {
      write();
    } finally {
      socket.uncork();
      this.watch();
    }
    return this;
  }

  upgrade<UserData>(
    _data: UserData,
    _key: string,
    _protocol: string,
    _extensions: string,
    _c: us_socket_context_t,
  ): void {
    throw new Error('only a request for a WebSocket can be upgraded');
  }

  private sendHead(length?: number): void {
    if (this.response.headersSent) return;
    const space = this.status.indexOf(' ');
    const code = Number(space === -1 ? this.status : this.status.slice(0, space));
    const { headers } = this;
    // A response without a body of its own has no length either. Source: RFC 9110, section 8.6.
    if (length !== undefined && code !== 204 && code >= 200 && code !== 304)
      headers.push('Content-Length', String(length));
    this.response.writeHead(code, space === -1 ? '' : this.status.slice(space + 1), headers);
  }

  private pass(part: Buffer): boolean {
    this.offset += part.byteLength;
    const isRead = this.response.write(part);
    // node:http corks the socket until the next tick.
    if (!isRead && !this.isWatched) process.nextTick(() => this.watch());
    return isRead;
  }

  private complete(rest: Buffer | undefined, length: number | undefined, closeConnection: boolean): HttpResponse {
    const { response, socket, message } = this;
    // After the head, node:http does not change its mind any more.
    if (closeConnection && response.headersSent) response.once('finish', () => socket.destroySoon());
    else if (closeConnection) response.shouldKeepAlive = false;
    this.sendHead(length);
    this.finish();
    response.end(rest);
    this.watch();
    // What the client still sends is read, so that the next request on the connection is found.
    message.resume();
    this.onEnd?.(!response.shouldKeepAlive || closeConnection);
    return this;
  }

  /** As in uWebSockets.js, no handler is called after this. */
  private finish(): void {
    this.isEnded = true;
    this.aborted = undefined;
    this.writable = undefined;
  }

  /** The client has gone. */
  protected abort(): void {
    const { aborted } = this;
    this.finish();
    aborted?.();
  }

  private watch(): void {
    if (this.isWatched || !isBehind(this.socket)) return;
    this.isWatched = true;
    watchReader(this.socket, this.response);
  }
}
