import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { AsyncResource } from 'node:async_hooks';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import {
  announceConnection,
  captureHead,
  classesOf,
  closeResponse,
  createMessage,
  drain,
  dumpUnread,
} from '../../compat/node-http.js';
import { addConnections } from '../../compat/node-net.js';
import { addressOf } from '../../engine/request.js';
import { HttpSocket } from './http-socket.js';
import { copyRequest, framingOf } from './raw-request.js';
import { ResponseWriter } from './response-writer.js';
import { Upload } from './upload.js';

/** Hands requests that uWebSockets.js has parsed to an application's http.Server, which notices no difference. */
export class HttpBridge {
  private readonly open = new Set<HttpSocket>();

  /**
   * @param local where the server listens
   * @param onIdle called whenever the last request in progress is over
   */
  constructor(
    private readonly server: Server,
    private readonly local: () => AddressInfo,
    private readonly onIdle: () => void,
  ) {}

  /** Whether no request is in progress. */
  get isIdle(): boolean {
    return this.open.size === 0;
  }

  /** Cuts off all connections that have a request in progress. */
  closeAll(): void {
    for (const socket of this.open) socket.destroy();
  }

  /** Takes a request. */
  readonly handle = (res: HttpResponse, req: HttpRequest): void => {
    const { server } = this;
    const request = copyRequest(req);
    const framing = framingOf(request);
    if (framing === 'ambiguous') {
      // An answer would not stop uWebSockets.js from going on with what comes behind.
      res.close();
      return;
    }
    const { Message, Response } = classesOf(server);
    const writer = new ResponseWriter(res, request.method === 'HEAD', req.getHeader('connection') === 'close');
    const socket = new HttpSocket(server, { remoteAddress: addressOf(res), local: this.local() }, writer);
    const message = createMessage(Message, server, socket as unknown as Socket, request);
    const response = new Response(message);
    response.shouldKeepAlive = req.getHeader('connection') !== 'close';
    captureHead(server, response, (head) => writer.setHead(head));
    const upload = framing === 'body' ? new Upload(res, message, writer, (bytes) => socket.received(bytes)) : undefined;
    writer.onDrain = () => {
      drain(response);
      upload?.pace();
    };
    if (!upload) {
      message.complete = true;
      message.push(null);
    }
    res.onAborted(() => {
      upload?.abort();
      writer.abort();
      socket.destroy();
    });
    this.track(socket);
    socket.on('close', () => {
      upload?.abort();
      // Listeners of `error` alone are told; without one it would be uncaught.
      if (!message.readableEnded) message.destroy(message.listenerCount('error') > 0 ? aborted() : undefined);
    });
    if (server.timeout) socket.setTimeout(server.timeout);
    socket.on('timeout', () => this.onTimeout(socket, message, response));

    response.assignSocket(socket as unknown as Socket);
    response.on('finish', () => {
      upload?.release();
      dumpUnread(message);
      response.detachSocket(socket as unknown as Socket);
      writer.end();
      this.release(socket);
      process.nextTick(closeResponse, response);
    });
    // What a listener keeps in an AsyncLocalStorage must not show up in the next request.
    new AsyncResource('HTTPINCOMINGMESSAGE').runInAsyncScope(() => {
      socket.isAnnounced = announceConnection(server, socket as unknown as Socket);
      this.emit(message, response);
    });
  };

  /** Emits the event that node:http would. */
  private emit(message: IncomingMessage, response: ServerResponse): void {
    const { server } = this;
    const { expect } = message.headers;
    if (expect === undefined) server.emit('request', message, response);
    else if (/(?:^|\W)100-continue(?:$|\W)/i.test(expect)) {
      // uWebSockets.js has sent the 100 already.
      server.emit(server.listenerCount('checkContinue') > 0 ? 'checkContinue' : 'request', message, response);
    } else if (server.listenerCount('checkExpectation') > 0) server.emit('checkExpectation', message, response);
    else response.writeHead(417).end();
  }

  private onTimeout(socket: HttpSocket, message: IncomingMessage, response: ServerResponse): void {
    const isHandled = [
      !message.complete && message.emit('timeout', socket),
      !response.writableFinished && response.emit('timeout', socket),
      this.server.emit('timeout', socket),
    ].includes(true);
    if (!isHandled) socket.destroy();
  }

  private track(socket: HttpSocket): void {
    this.open.add(socket);
    addConnections(this.server, 1);
    socket.once('close', () => this.release(socket));
  }

  private release(socket: HttpSocket): void {
    if (!this.open.delete(socket)) return;
    socket.setTimeout(0);
    addConnections(this.server, -1);
    // Who keeps a list of the connections is waiting for their end.
    if (socket.isAnnounced) socket.destroy();
    if (this.open.size === 0) this.onIdle();
  }
}

/** The error that node:http gives the message of a client that has gone. */
function aborted(): Error {
  return Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
}
