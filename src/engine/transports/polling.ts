import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { deflate, gzip, type ZlibOptions } from 'node:zlib';
import accepts from 'accepts';
import { clearTimeout, setTimeout } from '../../base/clock.js';
import { type HandshakeError, handshakeErrors } from '../../base/errors.js';
import { own } from '../../base/owner.js';
import type { Outbox } from '../delivery/outbox.js';
import type { HttpExchange, ResponseHeaders } from '../http/exchange.js';
import { respond } from '../http/middleware.js';
import type { FrameGuard } from '../limits/frame-guard.js';
import * as v3 from '../protocol/codec-v3.js';
import * as v4 from '../protocol/codec-v4.js';
import type { Packet, PacketData, PacketOptions, PacketType } from '../protocol/packet.js';
import { LazyEventEmitter } from '../session/compact-emitter.js';
import { PollingPosts } from './polling-posts.js';
import type { Protocol, Transport, TransportOwner } from './transport.js';

export interface PollingSettings {
  readonly frameGuard: FrameGuard;
  readonly outbox: Pick<Outbox, 'afterHeld'>;
  httpCompression: HttpCompression | undefined;
  /** Adds the headers that each response carries. */
  addHeaders(headers: ResponseHeaders, exchange: HttpExchange, sid: string): void;
}

/** How long a closing session waits for a poll that it can answer with a close packet, in ms. As in engine.io. */
const CLOSE_TIMEOUT_MS = 30_000;

/**
 * How long a poll waits during an upgrade, in ms. It may have overtaken the end of the upgrade, which arrives over
 * another connection, and possibly through another worker.
 */
const LATE_POLL_MS = 25;

/** The HTTP long-polling transport. Source: Engine.IO v4, "HTTP long-polling". */
export class PollingTransport extends LazyEventEmitter implements Transport {
  readyState: 'open' | 'closing' | 'closed' = 'open';
  private poll: HttpExchange | undefined;
  private readonly posts = new PollingPosts(this);
  /** Whether the client has closed the session while none of its polls was waiting. */
  isPollExpected = false;
  private discarded = false;
  private closeWithNextPoll: (() => void) | undefined;
  private closeTimer: NodeJS.Timeout | undefined;
  /** During an upgrade, polls are answered soon, because the client waits for the end of its last poll. */
  private endsPollsSoon = false;
  private noopTimer: NodeJS.Timeout | undefined;
  /** Whether a second poll waits, because it may be the older one. */
  private isOverlapping = false;

  constructor(
    public owner: TransportOwner,
    readonly protocol: Protocol,
    private readonly supportsBinary: boolean,
    readonly settings: PollingSettings,
  ) {
    super();
  }

  get sid(): string {
    return this.owner.id;
  }

  get name(): 'polling' {
    return 'polling';
  }

  get canSend(): boolean {
    // A client treats the response to its POST as the older one.
    return this.poll !== undefined && !this.posts.isUnwritten;
  }

  get writable(): boolean {
    return this.canSend;
  }

  get nativeSocket(): undefined {
    return undefined;
  }

  /** Packets wait in the session, not in the transport. */
  get bufferedAmount(): number {
    return 0;
  }

  /** Lets POSTs wait until {@link handleHeldPost}, or until {@link takePost} passes them on. */
  holdPosts(onHeldPost: () => void): void {
    this.posts.hold(onHeldPost);
  }

  /** Handles the POST that waits, and later ones at once. */
  handleHeldPost(): void {
    this.posts.handleHeld();
  }

  /** Releases the POST that waits unread, so that other code can handle it. */
  takePost(): HttpExchange | undefined {
    return this.posts.take();
  }

  /** Whether a POST is arriving, or some of its packets are not handled yet. */
  get isReceiving(): boolean {
    return this.posts.isReceiving;
  }

  /** Whether a poll waits and no POST is in progress, so closing interrupts nothing. */
  get isQuiet(): boolean {
    return this.canSend && !this.isReceiving;
  }

  /** A poll that waits goes along. */
  get canLeave(): boolean {
    return this.readyState === 'open' && !this.isReceiving && !this.posts.isUnwritten && !this.isOverlapping;
  }

  /** Releases the waiting poll, so that other code can answer it. */
  takePoll(): HttpExchange | undefined {
    const { poll } = this;
    this.poll = undefined;
    if (poll) {
      poll.onAborted = undefined;
      poll.onAnswerNow = undefined;
    }
    return poll;
  }

  /** Handles a request of this session. */
  onRequest(exchange: HttpExchange): void {
    const { method } = exchange.request;
    if (method === 'GET') this.onPoll(exchange);
    else if (method === 'POST') this.posts.receive(exchange);
    else respond(exchange, 500, {}, '');
  }

  private onPoll(exchange: HttpExchange): void {
    if (this.poll) return this.onSecondPoll(exchange);
    if (this.readyState === 'closed') return respond(exchange, 200, {}, v4.encodePayload([{ type: 'close' }]));
    this.poll = exchange;
    const answerNow = () => {
      if (this.poll === exchange) this.send([{ type: 'noop' }]);
    };
    exchange.onAnswerNow = answerNow;
    exchange.onAborted = () => {
      if (this.poll !== exchange) return;
      this.poll = undefined;
      this.owner.onError(this, 'poll connection closed prematurely');
    };
    if (this.canSend) this.onPollReady();
  }

  /**
   * A client may have aborted one of two polls. If the polls took different ways, this worker learns of that later, and
   * the second poll may be the one that was sent, and aborted, first. The other one then finds the session closed.
   */
  private onSecondPoll(exchange: HttpExchange): void {
    const first = this.poll!;
    const refuse = () => {
      this.owner.onError(this, 'overlap from client');
      respond(exchange, 400, {}, '');
    };
    if (this.isOverlapping || !(first.isRelayed || exchange.isRelayed)) return refuse();
    this.isOverlapping = true;
    const timer = setTimeout(() => {
      this.isOverlapping = false;
      refuse();
    }, LATE_POLL_MS);
    exchange.onAborted = () => {
      clearTimeout(timer);
      this.isOverlapping = false;
      if (this.poll === first) respond(this.takePoll()!, 400, {}, '');
      this.owner.onError(this, 'poll connection closed prematurely');
    };
  }

  /** A poll waits, and can be answered. */
  private onPollReady(): void {
    const { poll } = this;
    this.owner.onReady(this);
    if (!poll || this.poll !== poll) return;
    if (this.closeWithNextPoll) this.send([{ type: 'noop' }]);
    else if (this.endsPollsSoon) this.noopTimer = setTimeout(() => poll.onAnswerNow?.(), LATE_POLL_MS);
  }

  /** Ends the waiting poll, and soon each later one, so that the client can leave this transport. */
  endPollsSoon(endsPollsSoon: boolean): void {
    this.endsPollsSoon = endsPollsSoon;
    clearTimeout(this.noopTimer);
    if (endsPollsSoon && this.canSend) this.send([{ type: 'noop' }]);
  }

  /** The session has changed its transport. Its client has no poll any more, so a waiting poll came too late. */
  leave(): void {
    const poll = this.takePoll();
    if (poll) respondWithError(poll, handshakeErrors.BAD_REQUEST);
    // A close in progress continues over the new transport.
    clearTimeout(this.closeTimer);
    this.closeWithNextPoll = undefined;
    this.readyState = 'open';
    this.discard();
    this.close();
  }

  sendOne(type: PacketType, data: PacketData | undefined, options: PacketOptions): void {
    this.send([{ type, data, options }]);
  }

  send(packets: readonly Packet[]): void {
    const exchange = this.takePoll()!;
    const last = this.closeWithNextPoll;
    const all: readonly Packet[] = last ? [...packets, { type: 'close' }] : packets;
    this.closeWithNextPoll = undefined;
    const payload = this.protocol === 4 ? v4.encodePayload(all) : v3.encodePayload(all, this.supportsBinary);
    const compress = all.some((packet) => packet.data !== undefined && packet.options?.compress !== false);
    const type = typeof payload === 'string' ? 'text/plain; charset=UTF-8' : 'application/octet-stream';
    const headers = this.headersFor(exchange, type);
    const { httpCompression, outbox } = this.settings;
    outbox.afterHeld(() => {
      const compression = compress ? httpCompression : undefined;
      own('answering a poll', respondWithPayload(exchange, payload, headers, compression));
    });
    last?.();
    this.owner.onDrain(this);
  }

  /** The headers that a response with packets, or to packets, carries. */
  headersFor(exchange: HttpExchange, contentType: string): ResponseHeaders {
    const headers = commonHeaders(exchange, contentType);
    this.emit('headers', headers, exchange.request);
    this.settings.addHeaders(headers, exchange, this.sid);
    return headers;
  }

  /** A POST contained a close packet. */
  onClosePacket(): void {
    this.isPollExpected = this.poll === undefined;
    this.onClose();
  }

  /** The response to a POST has reached the client's worker. */
  onPostWritten(): void {
    if (this.canSend) this.onPollReady();
  }

  private onClose(): void {
    if (this.poll) this.send([{ type: 'noop' }]);
    clearTimeout(this.closeTimer);
    this.readyState = 'closed';
    this.owner.onClose(this);
    this.emit('close');
  }

  /**
   * Some clients never reconnect after a close packet. Every client does after a poll that names an unknown session.
   * Packets wait in the session only while no poll waits, so the next poll takes them, and a later one finds no session.
   */
  dismiss(done: () => void): void {
    if (this.readyState !== 'open') return;
    this.readyState = 'closing';
    this.posts.destroy();
    const poll = this.takePoll();
    if (poll) respondWithError(poll, handshakeErrors.UNKNOWN_SID);
    done();
    this.readyState = 'closed';
    this.emit('close');
  }

  discard(): void {
    this.discarded = true;
    // A waiting close would never get another poll.
    this.closeWithNextPoll?.();
  }

  close(done?: () => void): void {
    if (this.readyState !== 'open') return;
    this.readyState = 'closing';
    // The rest of a POST would not reach any session.
    this.posts.destroy();
    const finish = () => {
      this.closeWithNextPoll = undefined;
      done?.();
      if (this.readyState !== 'closed') this.onClose();
    };
    if (this.canSend || (this.poll && this.discarded)) {
      this.send([{ type: 'close' }]);
      finish();
    } else if (this.discarded) {
      finish();
    } else {
      this.closeWithNextPoll = finish;
      this.closeTimer = setTimeout(finish, CLOSE_TIMEOUT_MS);
    }
  }
}

/** The compression of responses: zlib's options, and the size in bytes from which on responses are compressed. */
export type HttpCompression = ZlibOptions & { threshold: number };

const encoders = { gzip: promisify(gzip), deflate: promisify(deflate) };

/** Answers with an error in the form of engine.io. */
function respondWithError(exchange: HttpExchange, { code, status, message }: HandshakeError): void {
  respond(exchange, status, { 'Content-Type': 'application/json' }, JSON.stringify({ code, message }));
}

/** The headers of each response of this transport. */
function commonHeaders({ request }: HttpExchange, contentType: string): ResponseHeaders {
  const headers: ResponseHeaders = { 'Content-Type': contentType };
  const agent = request.headers['user-agent'];
  // Old versions of Internet Explorer treat some payloads as an attack.
  if (agent && (agent.includes(';MSIE') || agent.includes('Trident/'))) headers['X-XSS-Protection'] = '0';
  headers['cache-control'] = 'no-store';
  headers['X-Content-Type-Options'] = 'nosniff';
  return headers;
}

/**
 * Answers a poll.
 * @param compression how to compress the payload if the client supports it and it is large enough; undefined to send it as
 *   it is
 */
async function respondWithPayload(
  exchange: HttpExchange,
  payload: string | Buffer,
  headers: ResponseHeaders,
  compression: HttpCompression | undefined,
): Promise<void> {
  if (compression && payload.length >= compression.threshold) {
    const encoding = accepts(exchange.request as unknown as IncomingMessage).encoding(['gzip', 'deflate']);
    if (encoding === 'gzip' || encoding === 'deflate') {
      headers['Content-Encoding'] = encoding;
      return respond(exchange, 200, headers, await encoders[encoding](payload, compression));
    }
  }
  respond(exchange, 200, headers, payload);
}
