import { GjallarError } from '../../base/errors.js';
import { featureFigures, type Readings } from '../../base/figures.js';
import { joinTexts } from '../../base/names.js';
import { own, reportFailure } from '../../base/owner.js';
import { type Clock, systemClock } from '../../engine/clock.js';
import type { EngineCounters } from '../../engine/counters.js';
import { DeadlineQueue } from '../../engine/deadlines.js';
import type { Engine } from '../../engine/engine.js';
import type { UpgradeExchange } from '../../engine/http/exchange.js';
import type { EngineRequest } from '../../engine/http/request.js';
import { isForeign } from '../../engine/limits/origin.js';
import type { DrainReason, OtherClients } from '../../engine/other-clients.js';
import { routeWebSockets } from '../../engine/routes.js';
import type { TemplatedApp } from '../../engine/uws/app.js';
import { sendError } from '../http/json.js';
import { asUtf8Text, type PlainHost, type PlainMember, PlainSocket } from './plain-socket.js';

/** Where plain WebSockets are accepted, and who decides on them. */
export interface PlainRoute<Member extends PlainMember> {
  /** A path, or the beginning of one and `*`. Paths with a route of their own are not meant. @default all paths */
  pattern?: string;
  /** Whether the app is an SSLApp. @default false */
  secure?: boolean;
  /**
   * Checks a client before its WebSocket is accepted. Origins and limits of the engine are checked before.
   * @throws GjallarError rejects the client with the HTTP status of its code
   */
  admit(request: EngineRequest): Promise<Member>;
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

/** How plain WebSockets are dismissed. Source: RFC 6455, section 7.4.1, and its registry of close codes. */
const dismissals = { restart: [1012, 'service restart'], stop: [1001, 'the server stops'] } as const;

/**
 * WebSockets without Socket.IO, on the port of an engine: text in, text out, no client library. The limits of the engine hold
 * for them, a text to a room is written once for all of its members, and a drain dismisses them.
 *
 * ```
 * const plain = new PlainWebSockets(engine);
 * plain.attach(app, { pattern: '/prices/*', admit: async ({ url }) => memberOf(url) });
 * plain.publish('prices', '{"AAPL":187.1}');
 * ```
 *
 *   client                        server
 *     │ GET /… Upgrade              │
 *     ├────────────────────────────▶│ admit        rejected: an HTTP status and { ok, code, message }
 *     │◀────────────────────────────┤ 101, enter   texts that arrive meanwhile wait
 *     │ text ──────────────────────▶│ say          rejected: a close frame, its reason is the code
 *     │◀────────────────────── text ┤ publish      to all members of a room on this worker
 *     │◀────────────────────── ping ┤ after 10 s of silence, cut off after 60 s
 */
export class PlainWebSockets<Member extends PlainMember = PlainMember> implements OtherClients<PlainSocket<Member>> {
  /** Counts since the start; `closed` by close code. */
  readonly counters = { opened: 0, received: 0, closed: new Map<string, number>() };
  private readonly host: PlainHost<Member>;
  private readonly uncount: () => void;

  constructor(
    private readonly engine: Engine,
    { pingAfter = 10_000, pings = 5, clock = systemClock }: PlainOptions = {},
  ) {
    const silence = new DeadlineQueue<PlainSocket<Member>>(pingAfter, (socket) => socket.onSilence(pings), clock);
    this.host = { engine, sockets: new Set(), silence, counters: this.counters };
    engine.otherClients.add(this);
    this.uncount = featureFigures.add(() => this.readings);
  }

  /** The number of open WebSockets. */
  get size(): number {
    return this.host.sockets.size;
  }

  /** Accepts WebSockets. Call it before the app listens. */
  attach(app: TemplatedApp, { pattern = '/*', secure = false, admit }: PlainRoute<Member>): this {
    routeWebSockets(app, this.engine, {
      pattern,
      secure,
      maxPayload: MAX_PAYLOAD,
      compresses: false,
      // uWebSockets.js would send only one ping, a few seconds before the timeout.
      idleTimeout: 0,
      onUpgrade: (exchange) => own('admitting a plain WebSocket', this.admit(exchange, admit)),
    });
    return this;
  }

  /** Sends a text to the members of a room on this worker. Lone surrogates become U+FFFD. */
  publish(room: string, text: string): void {
    this.engine.counters.broadcasts++;
    this.engine.outbox.publish(topicOf(room), asUtf8Text(text), false, false);
  }

  /** The open WebSockets. */
  get all(): ReadonlySet<PlainSocket<Member>> {
    return this.host.sockets;
  }

  isQuiet(socket: PlainSocket<Member>): boolean {
    return socket.isQuiet;
  }

  dismiss(socket: PlainSocket<Member>, reason: DrainReason): void {
    const [code, text] = dismissals[reason];
    socket.end(code, text);
  }

  /** Closes all WebSockets gracefully. */
  close(): void {
    this.engine.outbox.flush();
    for (const socket of this.host.sockets) this.dismiss(socket, 'stop');
    this.engine.otherClients.delete(this);
    this.host.silence.close();
    this.uncount();
  }

  private get readings(): Readings {
    const { opened, received, closed } = this.counters;
    return {
      gjallar_clients: [['plain', this.size]],
      gjallar_connections_opened_total: [['plain', opened]],
      gjallar_connections_closed_total: Array.from(closed, ([reason, count]) => ['plain', reason, count] as const),
      gjallar_messages_received_total: [['plain', received]],
    };
  }

  private async admit(exchange: UpgradeExchange, admit: PlainRoute<Member>['admit']): Promise<void> {
    const { request } = exchange;
    try {
      this.checkSender(request);
      const member = await admit(request);
      if (exchange.finished) return;
      const { remoteAddress } = request.connection;
      const topic = member.room === undefined ? undefined : topicOf(member.room);
      const socket = new PlainSocket(member, remoteAddress, topic, this.host);
      if (this.engine.addresses?.enter(socket, remoteAddress) === false) {
        throw this.refusal('TOO_MANY_CONNECTIONS');
      }
      exchange.accept({}, socket);
    } catch (error) {
      sendError(exchange, {}, error, (cause) => reportFailure('admitting a plain WebSocket', cause));
    }
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
