import type { TemplatedApp, WebSocket } from 'uWebSockets.js';
import type { EngineCounters } from '../engine/counters.js';
import { type Clock, DeadlineQueue, systemClock } from '../engine/deadlines.js';
import type { Engine } from '../engine/engine.js';
import { type EngineRequest, readRequest } from '../engine/http/request.js';
import { isForeign } from '../engine/limits/origin.js';
import { DISABLED, noteClosed, noteOpen, type SocketData, UwsUpgradeExchange } from '../engine/uws/uws-exchange.js';
import { GjallarError } from '../errors.js';
import { type Member, PlainSocket } from './plain-socket.js';

/** Lets people into rooms: the chat, seen from here. */
export interface RoomGateway {
  /**
   * Checks who wants to come in, before there is a WebSocket.
   * @param query the address's parameters, as they came from outside
   * @throws GjallarError BAD_ROOM, BAD_NAME, TOKEN_…, ROOM_FORBIDDEN
   */
  admit(room: string, query: Readonly<Record<string, string>>): Promise<Member>;
}

export interface PlainOptions {
  /** After so many ms without a sign of life a client gets a ping, and another one after each further such time. */
  pingAfter?: number;
  /** So many pings are sent; a client that answers none is cut off when one more would be due. */
  pings?: number;
  clock?: Clock;
}

/** The longest message is 10,000 characters, of which none takes more than four bytes. */
const MAX_PAYLOAD = 40_960;
/** Addresses of the server's own. A room of such a name has another one too: `/%61pi` is the room `api`. */
const RESERVED = /^\/((socket\.io|api)(\/|$)|(healthz|readyz|metrics)$)/;

/**
 * Rooms over plain WebSockets, at `ws://HOST/ROOM`: text in, text out, no client library.
 *
 *   client                        server
 *     │ GET /ROOM?name=… Upgrade    │
 *     ├────────────────────────────▶│ admit        refused: an HTTP status and { ok, code, message }
 *     │◀────────────────────────────┤ 101, enter   what is said meanwhile waits
 *     │ text ──────────────────────▶│ say          refused: a close frame, its reason is the code
 *     │◀────────────────────── text ┤ publish      what anybody says in the room, the client itself too
 *     │◀────────────────────── ping ┤ after 10 s of silence, cut off after 60 s
 */
export class PlainWebSockets {
  /** What is counted since the start; `closed` by close code. */
  readonly counters = { opened: 0, received: 0, closed: new Map<string, number>() };
  private readonly sockets = new Set<PlainSocket>();
  private readonly silence: DeadlineQueue<PlainSocket>;

  constructor(
    private readonly engine: Engine,
    { pingAfter = 10_000, pings = 5, clock = systemClock }: PlainOptions = {},
  ) {
    this.silence = new DeadlineQueue(pingAfter, (socket) => socket.onSilence(pings), clock);
  }

  /** How many are open. */
  get size(): number {
    return this.sockets.size;
  }

  /** Answers on every path that is no other's. Call it before the app listens. */
  attach(app: TemplatedApp, gateway: RoomGateway, { secure = false }: { secure?: boolean } = {}): this {
    const { slow, closing, settings, addresses } = this.engine;
    const socketOf = (ws: WebSocket<SocketData>) => (ws as unknown as SocketData).receiver as PlainSocket;
    app.ws<SocketData>('/*', {
      maxPayloadLength: MAX_PAYLOAD,
      maxBackpressure: slow.limit,
      compression: DISABLED,
      // uWebSockets.js would send one ping, a few seconds before the end.
      idleTimeout: 0,
      sendPingsAutomatically: false,
      upgrade: (res, req, context) => {
        const request = readRequest(res, req, secure, settings.trustProxy);
        UwsUpgradeExchange.handle(res, request, context, (exchange) => void this.admit(exchange, gateway));
      },
      open: (ws) => {
        noteOpen(ws);
        this.counters.opened++;
        socketOf(ws).opened(ws);
      },
      message: (ws, message, isBinary) => {
        this.counters.received++;
        socketOf(ws).onMessage(message, isBinary);
      },
      ping: (ws) => socketOf(ws).touch(),
      pong: (ws) => socketOf(ws).touch(),
      drain: (ws) => {
        closing.drained(ws);
        socketOf(ws).onDrain();
      },
      dropped: (ws, message) => slow.onDropped(ws, message, socketOf(ws)),
      close: (ws, code) => {
        noteClosed(ws);
        closing.closed(ws);
        const { closed } = this.counters;
        // Clients may make up codes of their own.
        const reason = code < 1016 ? String(code) : 'other';
        closed.set(reason, (closed.get(reason) ?? 0) + 1);
        addresses?.leave(socketOf(ws));
        socketOf(ws).onClose();
      },
    });
    return this;
  }

  /** Sends a text to all plain members of a room that are on this worker. */
  publish(room: string, text: string): void {
    this.engine.outbox.publish(topicOf(room), text, false, false);
  }

  /** Those that are open. */
  get all(): ReadonlySet<PlainSocket> {
    return this.sockets;
  }

  /** Closes all, in order. */
  close(): void {
    this.engine.outbox.flush();
    for (const socket of this.sockets) socket.end(1001, 'the server stops');
    this.silence.close();
  }

  private async admit(exchange: UwsUpgradeExchange, gateway: RoomGateway): Promise<void> {
    const { request } = exchange;
    try {
      const [path = ''] = request.url.split('?');
      if (RESERVED.test(path)) throw new GjallarError('NOT_FOUND');
      this.checkSender(request);
      const member = await gateway.admit(decode(path.slice(1)), request._query);
      const topic = topicOf(member.room);
      // Who comes gets what is said from now on.
      const { outbox, addresses } = this.engine;
      outbox.settle(topic);
      if (exchange.finished) return;
      const socket = new PlainSocket(member, topic, this.engine, this.sockets, this.silence);
      if (addresses?.enter(socket, request.connection.remoteAddress) === false)
        throw this.refusal('TOO_MANY_CONNECTIONS');
      exchange.accept({}, socket);
    } catch (error) {
      const { status, code, message } = error instanceof GjallarError ? error : new GjallarError('INTERNAL');
      exchange.send(
        status,
        { 'Content-Type': 'application/json' },
        `${JSON.stringify({ ok: false, code, message })}\n`,
      );
    }
  }

  private checkSender(request: EngineRequest): void {
    const { settings, addresses } = this.engine;
    if (isForeign(request, settings.origins, settings.trustProxy > 0)) throw this.refusal('ORIGIN_FORBIDDEN');
    const refused = addresses?.checkConnectionRate(request.connection.remoteAddress);
    if (refused) throw this.refusal(refused);
  }

  private refusal(code: keyof EngineCounters['refused']): GjallarError {
    this.engine.counters.refused[code]++;
    return new GjallarError(code);
  }
}

/** Topics of Socket.IO begin with the slash of their namespace. */
function topicOf(room: string): string {
  return `plain\x1f${room}`;
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new GjallarError('BAD_ROOM');
  }
}
