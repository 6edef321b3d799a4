import type { TemplatedApp, WebSocket } from 'uWebSockets.js';
import { type Clock, DeadlineQueue, systemClock } from '../engine/deadlines.js';
import type { Outbox } from '../engine/outbox.js';
import { readRequest } from '../engine/request.js';
import { DISABLED, type SocketData, UwsUpgradeExchange } from '../engine/uws-exchange.js';
import { GjallarError } from '../errors.js';
import { type Guest, PlainSocket } from './plain-socket.js';

/** Lets people into rooms: the chat, seen from here. */
export interface Door {
  /**
   * Checks who wants to come in, before there is a WebSocket.
   * @param query the address's parameters, as they came from outside
   * @throws GjallarError BAD_ROOM, BAD_NAME, TOKEN_…, ROOM_FORBIDDEN
   */
  admit(room: string, query: Readonly<Record<string, string>>): Promise<Guest>;
}

export interface PlainOptions {
  /** After so many ms without a sign of life a client gets a ping, and another one after each further such time. */
  pingAfter?: number;
  /** So many pings are sent; a client that answers none is cut off when one more would be due. */
  pings?: number;
  clock?: Clock;
}

/** The longest message is 10,000 UTF-16 units, of which none takes more than three bytes. */
const MAX_PAYLOAD = 32_768;
/** A client that is further behind than this, in bytes, is cut off: it has no way to ask for what it missed. */
const MAX_BEHIND = 1_000_000;
/** Addresses of the server's own. */
const RESERVED = /^\/(socket\.io|api)(\/|$)/;

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
  private readonly sockets = new Set<PlainSocket>();
  private readonly silence: DeadlineQueue<PlainSocket>;

  constructor(
    private readonly outbox: Outbox,
    { pingAfter = 10_000, pings = 5, clock = systemClock }: PlainOptions = {},
  ) {
    this.silence = new DeadlineQueue(pingAfter, (socket) => socket.onSilence(pings), clock);
  }

  /** Answers on every path that is no other's. Call it before the app listens. */
  attach(app: TemplatedApp, door: Door, { secure = false }: { secure?: boolean } = {}): this {
    const socketOf = (ws: WebSocket<SocketData>) => (ws as unknown as SocketData).receiver as PlainSocket;
    app.ws<SocketData>('/*', {
      maxPayloadLength: MAX_PAYLOAD,
      maxBackpressure: MAX_BEHIND,
      closeOnBackpressureLimit: true,
      compression: DISABLED,
      // uWebSockets.js would send one ping, a few seconds before the end.
      idleTimeout: 0,
      sendPingsAutomatically: false,
      upgrade: (res, req, context) => {
        void this.admit(new UwsUpgradeExchange(res, readRequest(res, req, secure), context), door);
      },
      open: (ws) => socketOf(ws).opened(ws),
      message: (ws, message, isBinary) => socketOf(ws).onMessage(message, isBinary),
      ping: (ws) => socketOf(ws).touch(),
      pong: (ws) => socketOf(ws).touch(),
      close: (ws) => socketOf(ws).onClose(),
    });
    return this;
  }

  /** Sends a text to all plain members of a room that are on this worker. */
  publish(room: string, text: string): void {
    this.outbox.publish(topicOf(room), text, false, false);
  }

  /** Closes all, in order. */
  close(): void {
    this.outbox.flush();
    for (const socket of this.sockets) socket.end(1001, 'the server stops');
    this.silence.close();
  }

  private async admit(exchange: UwsUpgradeExchange, door: Door): Promise<void> {
    const { request } = exchange;
    try {
      const [path = ''] = request.url.split('?');
      if (RESERVED.test(path)) throw new GjallarError('NOT_FOUND');
      const guest = await door.admit(decode(path.slice(1)), request._query);
      const topic = topicOf(guest.room);
      // Who comes gets what is said from now on.
      this.outbox.settle(topic);
      exchange.accept({}, new PlainSocket(guest, topic, this.outbox, this.sockets, this.silence));
    } catch (error) {
      const { status, code, message } = error instanceof GjallarError ? error : new GjallarError('INTERNAL');
      exchange.send(
        status,
        { 'Content-Type': 'application/json' },
        `${JSON.stringify({ ok: false, code, message })}\n`,
      );
    }
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
