import type { Server, Socket } from 'socket.io';
import { HeldExchange } from '../../cluster/relay/held.js';
import type { Resumption } from '../../cluster/relay/messages.js';
import { RelayedWebSocket } from '../../cluster/relay/owner.js';
import type { Relay } from '../../cluster/relay/relay.js';
import { isConnecting, isMidExchange, socketsOfClient } from '../../compat/socket-io.js';
import { privateParts } from '../../compat/socket-io-server.js';
import type { Engine } from '../../engine/engine.js';
import { type FrameReceiver, isNative, type WebSocketConnection } from '../../engine/http/exchange.js';
import type { Session } from '../../engine/session/session.js';
import type { Transport } from '../../engine/transports/transport.js';
import { recoveryKeyOf } from '../../recovery/index.js';

/** How long the index of clients is used, in ms. */
const INDEX_MS = 50;

/** The counts of a handover, of the WebSockets that this worker holds. */
export interface HandedOver {
  /** Clients whose sessions another worker has recovered. */
  recovered: number;
  /** Clients that must connect again because it could not. */
  failed: number;
}

/** Hands the sessions of a worker over to its successors. Their WebSockets stay where they are. */
export class Handover {
  readonly counts: HandedOver = { recovered: 0, failed: 0 };
  private clients = new Map<unknown, Socket>();
  private indexedAt = Number.NEGATIVE_INFINITY;
  private turn = 0;

  /** @param successors the ids of the workers that get the sessions */
  constructor(
    private readonly servers: readonly Server[],
    private readonly successors: readonly number[],
  ) {}

  /** Whether the client neither connects to a namespace, nor is in the middle of an exchange. */
  isReady(session: Session): boolean {
    // A client without a socket has just arrived.
    const socket = this.socketOf(session);
    if (!socket || isConnecting(session)) return false;
    return ![...socketsOfClient(socket).values()].some(isMidExchange);
  }

  /** Hands a session over, or dismisses its client. */
  handOver(session: Session, engine: Engine, relay: Relay): void {
    const webSocket = webSocketOf(session.transport);
    if (!webSocket || !this.resumptionsOf(session)) return session.dismiss();
    const now = () => this.handOverNow(session, engine, relay);
    // The holder must not forward what the client sends from now on. socket.io drops events that have just arrived, and
    // that wait for the end of this turn, if their socket ends before.
    if (webSocket.pause) webSocket.pause(() => setImmediate(now));
    else now();
  }

  private handOverNow(session: Session, engine: Engine, relay: Relay): void {
    const isWaiting = engine.frameGuard.isWaiting(session.transport as unknown as FrameReceiver);
    const resumptions = isWaiting ? undefined : this.resumptionsOf(session);
    const { request } = session;
    const successor = this.nextSuccessor(relay);
    const webSocket = resumptions && request && successor !== undefined && session.handOver();
    if (!webSocket) return session.dismiss();
    if (webSocket instanceof RelayedWebSocket) return webSocket.handOver({ successor, resumptions });
    if (!isNative(webSocket)) return webSocket.close();
    const exchange = new HeldExchange(webSocket, request, engine, (isRecovered) => {
      this.counts[isRecovered ? 'recovered' : 'failed']++;
    });
    exchange.expect(resumptions);
    if (!relay.handOver(successor, exchange)) exchange.destroy();
  }

  /** The workers take turns. One of them may have died. */
  private nextSuccessor(relay: Relay): number | undefined {
    const alive = this.successors.filter((one) => relay.has(one));
    return alive[this.turn++ % alive.length];
  }

  private socketOf(session: Session): Socket | undefined {
    if (performance.now() - this.indexedAt > INDEX_MS) this.index();
    return this.clients.get(session);
  }

  /** What recovers all sockets of a client; undefined if some cannot be recovered. */
  private resumptionsOf(session: Session): Resumption[] | undefined {
    const first = this.socketOf(session);
    if (!first || !this.isReady(session)) return undefined;
    const resumptions: Resumption[] = [];
    for (const [nsp, socket] of socketsOfClient(first)) {
      const key = recoveryKeyOf(socket);
      if (!key) return undefined;
      resumptions.push({ nsp, sid: socket.id, auth: socket.handshake.auth, ...key });
    }
    return resumptions.length > 0 ? resumptions : undefined;
  }

  private index(): void {
    this.clients = new Map();
    for (const server of this.servers) {
      for (const { sockets } of privateParts(server)._nsps.values()) {
        for (const socket of sockets.values()) this.clients.set(socket.conn, socket);
      }
    }
    this.indexedAt = performance.now();
  }
}

/** The WebSocket of a transport, if it can be handed over. */
function webSocketOf(transport: Transport): WebSocketConnection | undefined {
  const { webSocket } = transport as { webSocket?: WebSocketConnection };
  return webSocket && (webSocket.pause || isNative(webSocket)) ? webSocket : undefined;
}
