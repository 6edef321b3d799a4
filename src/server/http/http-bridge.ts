import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { AsyncResource } from 'node:async_hooks';
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { announceConnection, classesOf } from '../../compat/node-http.js';
import { addConnections } from '../../compat/node-net.js';
import { addressOf } from '../../engine/http/request.js';
import { connections } from '../../engine/uws/response.js';
import { BridgedRequest } from './bridged-request.js';
import { copyRequest, framingOf } from './raw-request.js';

/** Passes requests that uWebSockets.js has parsed to an application's http.Server. */
export class HttpBridge {
  private readonly open = new Set<BridgedRequest>();
  private readonly classes: ReturnType<typeof classesOf>;

  /**
   * @param local the address on which the server listens
   * @param onIdle called each time the last request in progress is complete
   */
  constructor(
    private readonly server: Server,
    private readonly local: AddressInfo,
    private readonly onIdle: () => void,
  ) {
    this.classes = classesOf(server);
  }

  /** Whether no request is in progress. */
  get isIdle(): boolean {
    return this.open.size === 0;
  }

  /** Closes all connections that have a request in progress. */
  closeAll(): void {
    for (const { socket } of this.open) socket.destroy();
  }

  /** Handles a request. */
  readonly handle = (res: HttpResponse, req: HttpRequest): void => {
    const { server, local, classes } = this;
    const raw = copyRequest(req);
    const framing = framingOf(raw);
    // A response would not keep uWebSockets.js from parsing the bytes that follow.
    if (framing === 'ambiguous') return void res.close();
    const ends = { server, remoteAddress: addressOf(res), local };
    const request = new BridgedRequest(res, raw, framing === 'body', classes, ends, this.onOver);
    this.open.add(request);
    addConnections(server, 1);
    // Each request gets an async context of its own, so that AsyncLocalStorage does not leak into the next one.
    new AsyncResource('HTTPINCOMINGMESSAGE').runInAsyncScope(this.emit, this, request);
  };

  /** Emits the event that node:http would. */
  private emit({ message, response, socket }: BridgedRequest): void {
    const { server } = this;
    const { expect } = message.headers;
    // So that the client opens its next connection to another process.
    if (connections.areEnding) response.shouldKeepAlive = false;
    socket.isAnnounced = announceConnection(server, socket as unknown as Socket);
    if (expect === undefined) server.emit('request', message, response);
    else if (/(?:^|\W)100-continue(?:$|\W)/i.test(expect)) {
      // uWebSockets.js has sent the 100 already.
      server.emit(server.listenerCount('checkContinue') > 0 ? 'checkContinue' : 'request', message, response);
    } else if (server.listenerCount('checkExpectation') > 0) server.emit('checkExpectation', message, response);
    else response.writeHead(417).end();
  }

  private readonly onOver = (request: BridgedRequest): void => {
    if (!this.open.delete(request)) return;
    addConnections(this.server, -1);
    if (this.open.size === 0) this.onIdle();
  };
}
