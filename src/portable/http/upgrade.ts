import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { HttpResponse } from '../../sockets.js';
import { PortableResponse } from './response.js';

/** Makes a WebSocket of a request. */
export type Accept = (request: UpgradeRequest, userData: object, protocol: string) => void;

/** What node:http knows of a request for a WebSocket. */
export interface UpgradeRequest {
  readonly message: IncomingMessage;
  readonly socket: Socket;
  /** Bytes that came after the request. */
  readonly head: Buffer;
  /** Headers of the response. Names and values alternate. */
  readonly headers: readonly string[];
}

/**
 * The response to a request for a WebSocket: a rejection, after which the connection ends, or the WebSocket. Most are
 * accepted at once, and need neither a response of node:http nor listeners.
 */
export class PortableUpgrade extends PortableResponse {
  /** Set while the request waits. */
  private onGone: (() => void) | undefined;

  constructor(
    message: IncomingMessage,
    socket: Socket,
    private readonly head: Buffer,
    private readonly accept: Accept,
  ) {
    super(message, socket);
  }

  /** The request waits for a decision. Only a socket that is read from tells that its client has gone. */
  wait(): void {
    if (this.isEnded) return;
    this.onGone = () => this.abort();
    this.socket.on('error', destroy).on('close', this.onGone).on('readable', readEnd).on('end', destroy);
  }

  /** A WebSocket that is accepted in it corks the socket itself, and is no response whose reader is watched. */
  override cork(write: () => void): HttpResponse {
    write();
    return this;
  }

  protected override make(): ServerResponse {
    const { message, socket } = this;
    const response = new ServerResponse(message);
    // node:http has given the connection up, so no further request is read from it.
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    socket.on('error', destroy);
    return response.on('finish', () => socket.destroySoon());
  }

  override upgrade<UserData>(userData: UserData, _key: string, protocol: string): void {
    const { message, socket, head, headers } = this;
    this.detach();
    if (this.onGone) {
      // The WebSocket lives long, and has its own.
      socket.removeListener('error', destroy).removeListener('close', this.onGone);
      socket.removeListener('readable', readEnd).removeListener('end', destroy);
    }
    this.accept({ message, socket, head, headers }, userData as object, protocol.split(',', 1)[0]!.trim());
  }
}

function destroy(this: Socket): void {
  this.destroy();
}

/** Reads the end of the stream, but leaves the bytes for the WebSocket. */
function readEnd(this: Socket): void {
  if (this.readableLength === 0) this.read();
}

/** Whether a request asks for a WebSocket correctly; uWebSockets.js takes any other for an ordinary one. */
export function isHandshake({ method, headers }: IncomingMessage): boolean {
  const { upgrade = '', 'sec-websocket-key': key = '' } = headers;
  return method === 'GET' && upgrade.toLowerCase() === 'websocket' && /^[+/0-9A-Za-z]{22}==$/.test(key);
}
