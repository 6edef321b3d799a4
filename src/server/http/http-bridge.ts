import { AsyncResource } from 'node:async_hooks';
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { announceConnection, classesOf } from '../../compat/node-http.js';
import { addConnections } from '../../compat/node-net.js';
import type { Buffers } from '../../engine/delivery/held-bytes.js';
import type { KeepAlive } from '../../engine/http/keep-alive.js';
import { addressOf } from '../../engine/http/request.js';
import { connections } from '../../engine/http/connections.js';
import type { HttpRequest, HttpResponse } from '../../sockets.js';
import { suggestNode } from '../warn.js';
import { BridgedRequest } from './bridged-request.js';
import { copyRequest, isMalformed } from './raw-request.js';

/** Passes requests that uWebSockets.js has parsed to an application's http.Server. */
export class HttpBridge {
  private readonly open = new Set<BridgedRequest>();
  private turn = 0;
  private isInTurn = false;
  private readonly classes: ReturnType<typeof classesOf>;

  /**
   * @param local the address on which the server listens
   * @param onIdle called each time the last request in progress is complete
   * @param buffers count what the application, and the client, have not read
   * @param keepAlive which connections stay open
   */
  constructor(
    private readonly server: Server,
    private readonly local: AddressInfo,
    private readonly onIdle: () => void,
    private readonly buffers: () => Buffers,
    private readonly keepAlive: () => KeepAlive,
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
    const raw = copyRequest(req, this.keepAlive());
    if (isMalformed(raw)) return reject(res);
    if (req.getHeader('trailer') !== '') suggestNode('A request has announced trailers.');
    this.beginTurn();
    const ends = { server, remoteAddress: addressOf(res), local };
    const request = new BridgedRequest(res, raw, classes, ends, this.onOver, this.buffers);
    request.turn = this.turn;
    request.onAborted = this.onAborted;
    this.open.add(request);
    addConnections(server, 1);
    // Each request gets an async context of its own, so that AsyncLocalStorage does not leak into the next one.
    new AsyncResource('HTTPINCOMINGMESSAGE').runInAsyncScope(this.emit, this, request);
  };

  /** Counts the turns of the event loop that have requests. */
  private beginTurn(): void {
    if (this.isInTurn) return;
    this.isInTurn = true;
    this.turn++;
    setImmediate(() => {
      this.isInTurn = false;
    });
  }

  /** uWebSockets.js parses all requests that have arrived together in one turn. */
  private readonly onAborted = (turn: number): void => {
    if (this.isInTurn && turn === this.turn)
      suggestNode('A connection has ended in the turn in which it sent a request.');
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

/** Answers as node:http does. Until then, uWebSockets.js closes the connection when it parses a further request. */
function reject(res: HttpResponse): void {
  let isClosed = false;
  res.onAborted(() => {
    isClosed = true;
  });
  setImmediate(() => {
    if (!isClosed) res.cork(() => res.writeStatus('400 Bad Request').endWithoutBody(0, true));
  });
}
