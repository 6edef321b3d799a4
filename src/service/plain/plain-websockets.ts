import { GjallarError } from '../../base/errors.js';
import { joinTexts } from '../../base/names.js';
import { own } from '../../base/owner.js';
import { type Clock, systemClock } from '../../engine/clock.js';
import type { EngineCounters } from '../../engine/counters.js';
import { DeadlineQueue } from '../../engine/deadlines.js';
import type { Engine } from '../../engine/engine.js';
import type { UpgradeExchange } from '../../engine/http/exchange.js';
import type { EngineRequest } from '../../engine/http/request.js';
import { isForeign } from '../../engine/limits/origin.js';
import { routeWebSockets } from '../../engine/routes.js';
import type { TemplatedApp } from '../../engine/uws/app.js';
import { decodeRoom, sendFailure } from '../../io/http/json.js';
import { type Member, type PlainHost, PlainSocket } from './plain-socket.js';

/** Admits clients to rooms. This is the chat as plain WebSockets use it. */
export interface RoomGateway {
  /**
   * Checks a client before its WebSocket is accepted.
   * @param query the parameters of the URL, unchecked
   * @throws GjallarError BAD_ROOM, BAD_NAME, TOKEN_…, ROOM_FORBIDDEN
   */
  admit(room: string, query: Readonly<Record<string, string>>): Promise<Member>;
  /**
   * Checks a client that watches a state room. Missing if there are none.
   * @throws GjallarError as admit(), and NOT_FOUND, BAD_INPUT
   */
  admitWatcher?(room: string, query: Readonly<Record<string, string>>): Promise<Member>;
}

export interface PlainOptions {
  /** A client that is silent for this number of ms gets a ping, and another one after each further such time. */
  pingAfter?: number;
  /** The number of pings. A client that answers none is disconnected when the next one would be due. */
  pings?: number;
  clock?: Clock;
}

/**
 * In bytes. A text that is too long is closed with a reason up to this size; uWebSockets.js resets on longer ones. A client
 * that answers pings may keep this much of an unfinished text in memory for as long as it likes, and nothing reports it.
 */
const MAX_PAYLOAD = 65_536;
/** Watches a state room. */
const STATE = /^\/api\/state\/([^/]+)$/;
/** Paths that the server uses itself. A room with such a name is reached by encoding it: `/%61pi` is the room `api`. */
const RESERVED = /^\/((socket\.io|api)(\/|$)|(healthz|readyz|metrics)$)/;

/**
 * Rooms over plain WebSockets, at `ws://HOST/ROOM`: text in, text out, no client library. At `ws://HOST/api/state/ROOM`,
 * the changes of a state room.
 *
 *   client                        server
 *     │ GET /ROOM?name=… Upgrade    │
 *     ├────────────────────────────▶│ admit        rejected: an HTTP status and { ok, code, message }
 *     │◀────────────────────────────┤ 101, enter   texts that arrive meanwhile wait
 *     │ text ──────────────────────▶│ say          rejected: a close frame, its reason is the code
 *     │◀────────────────────── text ┤ publish      texts of all members of the room, including its own
 *     │◀────────────────────── ping ┤ after 10 s of silence, cut off after 60 s
 */
export class PlainWebSockets {
  /** Counts since the start; `closed` by close code. */
  readonly counters = { opened: 0, received: 0, closed: new Map<string, number>() };
  private readonly host: PlainHost;

  constructor(
    private readonly engine: Engine,
    { pingAfter = 10_000, pings = 5, clock = systemClock }: PlainOptions = {},
  ) {
    const silence = new DeadlineQueue<PlainSocket>(pingAfter, (socket) => socket.onSilence(pings), clock);
    this.host = { engine, sockets: new Set(), silence, counters: this.counters };
    engine.otherClients.push(() => this.host.sockets);
  }

  /** The number of open WebSockets. */
  get size(): number {
    return this.host.sockets.size;
  }

  /** Accepts WebSockets on all paths without a route of their own. Call it before the app listens. */
  attach(app: TemplatedApp, gateway: RoomGateway, { secure = false }: { secure?: boolean } = {}): this {
    routeWebSockets(app, this.engine, {
      pattern: '/*',
      secure,
      maxPayload: MAX_PAYLOAD,
      compresses: false,
      // uWebSockets.js would send only one ping, a few seconds before the timeout.
      idleTimeout: 0,
      onUpgrade: (exchange) => own('admitting a plain WebSocket', this.admit(exchange, gateway)),
    });
    return this;
  }

  /** Sends a text to all plain members of a room that are on this worker. */
  publish(room: string, text: string): void {
    this.engine.counters.broadcasts++;
    this.engine.outbox.publish(topicOf(room), text, false, false);
  }

  /** The open WebSockets. */
  get all(): ReadonlySet<PlainSocket> {
    return this.host.sockets;
  }

  /** Closes all WebSockets gracefully. */
  close(): void {
    this.engine.outbox.flush();
    for (const socket of this.host.sockets) socket.end(1001, 'the server stops');
    this.host.silence.close();
  }

  private async admit(exchange: UpgradeExchange, gateway: RoomGateway): Promise<void> {
    const { request } = exchange;
    try {
      const [path = ''] = request.url.split('?');
      this.checkPath(path, gateway);
      this.checkSender(request);
      const watched = STATE.exec(path)?.[1];
      const member =
        watched === undefined
          ? await gateway.admit(decodeRoom(path.slice(1)), request._query)
          : await gateway.admitWatcher!(decodeRoom(watched), request._query);
      if (exchange.finished) return;
      const { remoteAddress } = request.connection;
      const topic = member.room === undefined ? undefined : topicOf(member.room);
      const socket = new PlainSocket(member, remoteAddress, topic, this.host);
      if (this.engine.addresses?.enter(socket, remoteAddress) === false) {
        throw this.refusal('TOO_MANY_CONNECTIONS');
      }
      exchange.accept({}, socket);
    } catch (error) {
      sendFailure(exchange, {}, error instanceof GjallarError ? error : new GjallarError('INTERNAL'));
    }
  }

  private checkPath(path: string, gateway: RoomGateway): void {
    if (RESERVED.test(path) && !(gateway.admitWatcher && STATE.test(path))) throw new GjallarError('NOT_FOUND');
  }

  private checkSender(request: EngineRequest): void {
    const { settings, addresses, load } = this.engine;
    if (load.level >= 2) throw this.refusal('OVERLOADED');
    if (isForeign(request, settings.origins, settings.trustProxy > 0)) throw this.refusal('ORIGIN_FORBIDDEN');
    const refused = addresses?.checkConnectionRate(request.connection.remoteAddress);
    if (refused) throw this.refusal(refused);
  }

  private refusal(code: keyof EngineCounters['refused']): GjallarError {
    this.engine.counters.refused[code]++;
    return new GjallarError(code);
  }
}

function topicOf(room: string): string {
  return joinTexts('plain', room);
}
