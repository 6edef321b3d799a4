import { raise } from '../../base/owner.js';
import type { HttpExchange } from '../http/exchange.js';
import { respond } from '../http/middleware.js';
import * as v3 from '../protocol/codec-v3.js';
import * as v4 from '../protocol/codec-v4.js';
import { type PacketData, PacketFormatError, type PacketType, type ReadPacket } from '../protocol/packet.js';
import type { PollingTransport } from './polling.js';

/** Receives the packets of a polling client, one POST at a time. */
export class PollingPosts {
  private post: HttpExchange | undefined;
  /** Whether the packets of a POST are being handled. */
  private isHandling = false;
  /** Called when a POST arrives. While it is set, a POST waits unread. */
  private onHeld: (() => void) | undefined;
  /** Whether the response to the last POST is still on its way to the worker with the client's connection. */
  isUnwritten = false;

  constructor(private readonly transport: PollingTransport) {}

  /** Whether a POST is arriving, or some of its packets are not handled yet. */
  get isReceiving(): boolean {
    return this.post !== undefined || this.isHandling;
  }

  /** Lets POSTs wait until {@link handleHeld}, or until {@link take} passes them on. */
  hold(onHeld: () => void): void {
    this.onHeld = onHeld;
  }

  /** Handles the POST that waits, and later ones at once. */
  handleHeld(): void {
    const post = this.take();
    this.onHeld = undefined;
    if (post) this.receive(post);
  }

  /** Releases the POST that waits unread. */
  take(): HttpExchange | undefined {
    if (!this.onHeld) return undefined;
    const { post } = this;
    this.post = undefined;
    return post;
  }

  /** Ends the POST that is arriving. */
  destroy(): void {
    this.post?.destroy();
  }

  receive(exchange: HttpExchange): void {
    const { transport } = this;
    if (this.isReceiving) {
      transport.owner.onError(transport, 'data request overlap from client');
      return respond(exchange, 400, {}, '');
    }
    this.post = exchange;
    if (this.onHeld) return this.onHeld();
    const isBinary = exchange.request.headers['content-type'] === 'application/octet-stream';
    exchange.readBody((error, body) => {
      this.post = undefined;
      if (error === 'aborted') return transport.owner.onError(transport, 'data request connection closed prematurely');
      if (error === 'length required') return this.refuse(exchange, 411, 'content-length header required');
      if (error === 'too large') return this.refuseTooLarge(exchange);
      if (error === 'length mismatch') return this.refuse(exchange, 400, 'content-length mismatch');
      if (error === 'overloaded') return this.refuse(exchange, 503, 'too many bytes wait');
      if (isBinary && transport.protocol === 4) return this.refuse(exchange, 400, 'invalid content');
      // The response is sent when all packets are handled, so a client cannot send faster than the worker can follow.
      this.isHandling = true;
      transport.settings.frameGuard.slice(this.handle(body, isBinary), () => {
        this.isHandling = false;
        // text/html keeps old browsers from offering a download.
        respond(exchange, 200, transport.headersFor(exchange, 'text/html'), 'ok');
        this.isUnwritten = exchange.isRelayed === true;
        exchange.whenWritten?.(() => {
          this.isUnwritten = false;
          transport.onPostWritten();
        });
      });
    });
  }

  private refuse(exchange: HttpExchange, status: number, reason: string): void {
    this.transport.owner.onError(this.transport, reason);
    respond(exchange, status, {}, '');
  }

  /** The client ends with "transport error", and the session with "transport close", as in engine.io. */
  private refuseTooLarge(exchange: HttpExchange): void {
    const { transport } = this;
    respond(exchange, 413, {}, '');
    transport.dismiss(() => transport.owner.onClose(transport, 'payload too large'));
  }

  /** Handles the packets of a POST, one per step. */
  private *handle(body: Buffer, isBinary: boolean): Generator<void> {
    const { transport } = this;
    let isFurther = false;
    try {
      for (const [type, data] of this.packetsOf(body, isBinary)) {
        if (isFurther) yield;
        isFurther = true;
        if (type === 'close') return transport.onClosePacket();
        if (!this.onPacket(type, data)) return;
      }
    } catch (error) {
      if (!(error instanceof PacketFormatError)) throw error;
      transport.owner.onError(transport, 'parse error');
    }
  }

  /** As on a WebSocket, a listener that throws does not keep the following packets from being handled. */
  private onPacket(type: PacketType, data: PacketData | undefined): boolean {
    try {
      return this.transport.owner.onPacket(this.transport, type, data);
    } catch (error) {
      raise(error);
      return true;
    }
  }

  private packetsOf(body: Buffer, isBinary: boolean): Iterable<ReadPacket> {
    if (this.transport.protocol === 4) return v4.readPayload(body.toString());
    return isBinary ? v3.readBytes(body) : v3.readPayload(body.toString());
  }
}
