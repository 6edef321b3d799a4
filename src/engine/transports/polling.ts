import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { deflate, gzip, type ZlibOptions } from 'node:zlib';
import accepts from 'accepts';
import { type HandshakeError, handshakeErrors } from '../../errors.js';
import type { HttpExchange, ResponseHeaders } from '../http/exchange.js';
import { respond } from '../http/middleware.js';
import type { FrameGuard } from '../limits/frame-guard.js';
import * as v3 from '../protocol/codec-v3.js';
import * as v4 from '../protocol/codec-v4.js';
import {
  type Packet,
  type PacketData,
  PacketFormatError,
  type PacketOptions,
  type PacketType,
  type ReadPacket,
} from '../protocol/packet.js';
import { LazyEventEmitter } from '../session/compact-emitter.js';
import type { Protocol, Transport, TransportOwner } from './transport.js';

/** The compression of responses: zlib's options, and the size in bytes from which on responses are compressed. */
export type HttpCompression = ZlibOptions & { threshold: number };

export interface PollingSettings {
  readonly frameGuard: FrameGuard;
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

const encoders = { gzip: promisify(gzip), deflate: promisify(deflate) };

function respondWith(exchange: HttpExchange, { code, status, message }: HandshakeError): void {
  respond(exchange, status, { 'Content-Type': 'application/json' }, JSON.stringify({ code, message }));
}

/** The HTTP long-polling transport. Source: Engine.IO v4, "HTTP long-polling". */
export class PollingTransport extends LazyEventEmitter implements Transport {
  readyState: 'open' | 'closing' | 'closed' = 'open';
  private poll: HttpExchange | undefined;
  private post: HttpExchange | undefined;
  /** Whether the packets of a POST are being handled. */
  private isHandling = false;
  /** Called when a POST arrives. While it is set, a POST waits unread. */
  private onHeldPost: (() => void) | undefined;
  /** Whether the response to the last POST is still on its way to the worker with the client's connection. */
  private isPostUnwritten = false;
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
    private readonly settings: PollingSettings,
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
    return this.poll !== undefined && !this.isPostUnwritten;
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
    this.onHeldPost = onHeldPost;
  }

  /** Handles the POST that waits, and later ones at once. */
  handleHeldPost(): void {
    const post = this.takePost();
    this.onHeldPost = undefined;
    if (post) this.onPost(post);
  }

  /** Releases the POST that waits unread, so that other code can handle it. */
  takePost(): HttpExchange | undefined {
    if (!this.onHeldPost) return undefined;
    const { post } = this;
    this.post = undefined;
    return post;
  }

  /** Whether a POST is arriving, or some of its packets are not handled yet. */
  get isReceiving(): boolean {
    return this.post !== undefined || this.isHandling;
  }

  /** Whether a poll waits and no POST is in progress, so closing interrupts nothing. */
  get isQuiet(): boolean {
    return this.canSend && !this.isReceiving;
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
    else if (method === 'POST') this.onPost(exchange);
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
    const isRelayed = (one: HttpExchange) => one.whenWritten !== undefined;
    if (this.isOverlapping || !(isRelayed(first) || isRelayed(exchange))) return refuse();
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
    if (poll) respondWith(poll, handshakeErrors.BAD_REQUEST);
    // A close in progress continues over the new transport.
    clearTimeout(this.closeTimer);
    this.closeWithNextPoll = undefined;
    this.readyState = 'open';
    this.discard();
    this.close();
  }

  private onPost(exchange: HttpExchange): void {
    if (this.isReceiving) {
      this.owner.onError(this, 'data request overlap from client');
      return respond(exchange, 500, {}, '');
    }
    this.post = exchange;
    if (this.onHeldPost) return this.onHeldPost();
    const isBinary = exchange.request.headers['content-type'] === 'application/octet-stream';
    exchange.readBody((error, body) => {
      this.post = undefined;
      if (error === 'aborted') return this.owner.onError(this, 'data request connection closed prematurely');
      if (error === 'length required') return this.refuse(exchange, 411, 'content-length header required');
      if (error === 'too large') return this.refuse(exchange, 413, 'payload too large');
      if (error === 'length mismatch') return this.refuse(exchange, 400, 'content-length mismatch');
      if (error === 'overloaded') return this.refuse(exchange, 503, 'too many bytes wait');
      if (isBinary && this.protocol === 4) return this.refuse(exchange, 400, 'invalid content');
      // The response is sent when all packets are handled, so a client cannot send faster than the worker can follow.
      this.isHandling = true;
      this.settings.frameGuard.slice(this.handle(body, isBinary), () => {
        this.isHandling = false;
        // text/html keeps old browsers from offering a download.
        const headers: ResponseHeaders = { 'Content-Type': 'text/html' };
        this.addHeaders(headers, exchange);
        respond(exchange, 200, headers, 'ok');
        this.isPostUnwritten = exchange.whenWritten !== undefined;
        exchange.whenWritten?.(() => {
          this.isPostUnwritten = false;
          if (this.canSend) this.onPollReady();
        });
      });
    });
  }

  private refuse(exchange: HttpExchange, status: number, reason: string): void {
    this.owner.onError(this, reason);
    respond(exchange, status, {}, '');
  }

  /** Handles the packets of a POST, one per step. */
  private *handle(body: Buffer, isBinary: boolean): Generator<void> {
    try {
      for (const [type, data] of this.packetsOf(body, isBinary)) {
        if (type === 'close') {
          this.isPollExpected = this.poll === undefined;
          return this.onClose();
        }
        if (!this.onPacket(type, data)) return;
        yield;
      }
    } catch (error) {
      if (!(error instanceof PacketFormatError)) throw error;
      this.owner.onError(this, 'parse error');
    }
  }

  /** As on a WebSocket, a listener that throws does not keep the following packets from being handled. */
  private onPacket(type: PacketType, data: PacketData | undefined): boolean {
    try {
      return this.owner.onPacket(this, type, data);
    } catch (error) {
      setImmediate(() => {
        throw error;
      });
      return true;
    }
  }

  private packetsOf(body: Buffer, isBinary: boolean): Iterable<ReadPacket> {
    if (this.protocol === 4) return v4.readPayload(body.toString());
    return isBinary ? v3.readBytes(body) : v3.readPayload(body.toString());
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
    void this.write(exchange, payload, compress);
    last?.();
    this.owner.onDrain(this);
  }

  private async write(exchange: HttpExchange, payload: string | Buffer, compress: boolean): Promise<void> {
    const isText = typeof payload === 'string';
    const headers: ResponseHeaders = {
      'Content-Type': isText ? 'text/plain; charset=UTF-8' : 'application/octet-stream',
    };
    this.addHeaders(headers, exchange);
    const { httpCompression } = this.settings;
    if (compress && httpCompression && payload.length >= httpCompression.threshold) {
      const encoding = accepts(exchange.request as unknown as IncomingMessage).encoding(['gzip', 'deflate']);
      if (encoding === 'gzip' || encoding === 'deflate') {
        headers['Content-Encoding'] = encoding;
        return respond(exchange, 200, headers, await encoders[encoding](payload, httpCompression));
      }
    }
    respond(exchange, 200, headers, payload);
  }

  private addHeaders(headers: ResponseHeaders, exchange: HttpExchange): void {
    const agent = exchange.request.headers['user-agent'];
    // Old versions of Internet Explorer treat some payloads as an attack.
    if (agent && (agent.includes(';MSIE') || agent.includes('Trident/'))) headers['X-XSS-Protection'] = '0';
    headers['cache-control'] = 'no-store';
    headers['X-Content-Type-Options'] = 'nosniff';
    this.emit('headers', headers, exchange.request);
    this.settings.addHeaders(headers, exchange, this.sid);
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
    this.post?.destroy();
    const poll = this.takePoll();
    if (poll) respondWith(poll, handshakeErrors.UNKNOWN_SID);
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
    this.post?.destroy();
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
