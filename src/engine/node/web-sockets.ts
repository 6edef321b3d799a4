import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { performance } from '../../base/clock.js';
import { type FrameReceiver, wrongVersion } from '../http/exchange.js';
import { type HttpHost, handleRequest } from '../http/guarded-requests.js';
import { FrameEvents, type RouteHost, upgradeHostOf, type WebSocketRoute } from '../http/route.js';
import type { Progress } from './progress.js';
import { ownSocket } from './socket-owner.js';
import type { NodeTopics } from './topics.js';
import { NodeUpgradeExchange } from './upgrade.js';
import { NodeWebSocket } from './web-socket.js';
import type { Writer } from './writer.js';

/** How long a client may take to end a connection after the close frame, in ms. */
const END_MS = 10_000;

/** The WebSockets of one route. */
export class NodeWebSockets {
  readonly maxPayload: number;
  readonly maxBackpressure: number;
  readonly compresses: boolean;
  readonly events: FrameEvents;
  readonly sockets = new Set<NodeWebSocket>();
  seconds = secondsOf(performance.now());
  private readonly ending = new Map<Socket, number>();
  private readonly upgradeHost: HttpHost;

  constructor(
    private readonly host: RouteHost,
    private readonly route: WebSocketRoute,
    readonly topics: NodeTopics,
    readonly writer: Writer,
  ) {
    this.maxPayload = route.maxPayload;
    this.maxBackpressure = host.slow.limit;
    this.compresses = route.compresses;
    this.events = new FrameEvents(host);
    this.upgradeHost = upgradeHostOf(host);
  }

  onUpgrade(message: IncomingMessage, head: Buffer, progress: Progress): void {
    const exchange = new NodeUpgradeExchange(message, head, this, this.host, progress);
    // Source: RFC 6455, section 4.2.2.
    if (message.headers['sec-websocket-version'] !== '13') {
      return exchange.send(...wrongVersion);
    }
    handleRequest(exchange, this.upgradeHost, this.route.onUpgrade);
  }

  isOf(host: object): boolean {
    return this.host === host;
  }

  /** Takes a WebSocket over that another process had. It reads nothing until it goes on. */
  takeOver(socket: Socket, receiver: FrameReceiver, compresses: boolean): NodeWebSocket {
    const webSocket = new NodeWebSocket(socket, this, receiver, compresses);
    ownSocket(socket, webSocket);
    receiver.onOpen(webSocket);
    return webSocket;
  }

  endSoon(socket: Socket): void {
    if (!socket.destroyed) this.ending.set(socket, performance.now() + END_MS);
  }

  /**
   * Ends the WebSockets from which nothing has come for `idleTimeout`, and the connections that their clients do not end.
   * @param now in ms
   */
  sweep(now: number): void {
    const { idleTimeout } = this.route;
    for (const [socket, due] of this.ending) {
      if (!socket.destroyed && due > now) continue;
      this.ending.delete(socket);
      socket.destroy();
    }
    const since = this.seconds - idleTimeout;
    if (idleTimeout > 0) for (const socket of this.sockets) if (socket.heardAt < since) socket.close();
    this.seconds = secondsOf(now);
  }
}

const secondsOf = (ms: number) => Math.floor(ms / 1000);
