import type { SlowClients } from '../../engine/delivery/slow-clients.js';
import type {
  BodyCallback,
  BodyError,
  CollectedResponse,
  FrameReceiver,
  HttpExchange,
  ResponseHeaders,
  UpgradeExchange,
  WebSocketConnection,
} from '../../engine/http/exchange.js';
import { type EngineRequest, requestOf } from '../../engine/http/request.js';
import type { FrameGuard } from '../../engine/limits/frame-guard.js';
import { types } from '../wire/types.js';
import {
  encodeBody,
  REPORT_EVERY,
  type RelayedProgress,
  type RelayedRequest,
  type RelayedResponse,
  type SendOp,
} from './messages.js';

/** The limits for clients that read too slowly or send too much. */
export interface ClientGuards {
  readonly slow: SlowClients;
  readonly frameGuard: FrameGuard;
}

/** A request that another worker has received, as its owner sees it. */
export class RelayedExchange implements HttpExchange {
  readonly isRelayed = true;
  readonly request: EngineRequest;
  /** The worker that has received it, or passed it on. */
  receiver: string | undefined;
  finished = false;
  onAborted: (() => void) | undefined;
  onAnswerNow: (() => void) | undefined;
  middlewareResponse: CollectedResponse | undefined;
  private onWritten: (() => void) | undefined;
  private isOver = false;

  constructor(
    private readonly relayed: RelayedRequest,
    private readonly body: Buffer,
    protected readonly reply: SendOp,
    /** Called when the exchange is over. */
    protected readonly onEnd: () => void,
    protected readonly guards: ClientGuards,
  ) {
    this.request = requestOf(relayed.parts);
  }

  get hops(): number {
    return this.relayed.hops;
  }

  readBody(done: BodyCallback): void {
    done(this.relayed.bodyError as BodyError | undefined, this.body);
  }

  send(status: number, headers: ResponseHeaders, body: string | Uint8Array): void {
    if (this.finished) return;
    const response: RelayedResponse = { status, headers, isText: typeof body === 'string' };
    this.finished = true;
    this.reply(types.response, encodeBody(response, body));
    // The receiver reports when it has written the response to a POST.
    if (this.request.method !== 'POST') this.end();
  }

  whenWritten(callback: () => void): void {
    if (this.isOver) callback();
    else this.onWritten = callback;
  }

  destroy(): void {
    if (this.finished) return;
    this.finished = true;
    this.reply(types.destroy);
    this.end();
  }

  /** The client, or the worker that it is connected to, is gone. */
  abort(): void {
    const wasFinished = this.finished;
    this.finished = true;
    this.end();
    if (!wasFinished) this.onAborted?.();
  }

  /** The response is written, or there will be none. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.onEnd();
    this.onWritten?.();
  }
}

/** A request for a WebSocket that another worker has received. */
export class RelayedUpgrade extends RelayedExchange implements UpgradeExchange {
  /** The WebSocket, once it is accepted. */
  webSocket: RelayedWebSocket | undefined;

  accept(headers: ResponseHeaders, receiver: FrameReceiver): void {
    if (this.finished) return;
    this.finished = true;
    this.reply(types.accept, encodeBody(headers));
    this.webSocket = new RelayedWebSocket(receiver, this.reply, this.onEnd, this.guards);
    receiver.onOpen(this.webSocket);
  }

  override abort(): void {
    if (this.webSocket) this.webSocket.closed(1006, '');
    else super.abort();
  }
}

/** A WebSocket that another worker holds. Topics do not reach it, so broadcasts are sent to it directly. */
class RelayedWebSocket implements WebSocketConnection {
  private sent = 0;
  private progress: RelayedProgress = { received: 0, waiting: 0 };
  private open = true;

  constructor(
    readonly receiver: FrameReceiver,
    private readonly reply: SendOp,
    private readonly onEnd: () => void,
    private readonly guards: ClientGuards,
  ) {}

  send(message: string | Uint8Array, isBinary: boolean, compress: boolean): number {
    if (!this.open) return 1;
    const { slow } = this.guards;
    if (slow.isOverflowing(this.receiver)) return 2;
    if (slow.limit > 0 && this.getBufferedAmount() > slow.limit) {
      slow.overflow(this.receiver);
      return 2;
    }
    this.sent += typeof message === 'string' ? Buffer.byteLength(message) : message.length;
    if (compress) this.reply(isBinary ? types.compressedBinary : types.compressedText, message);
    else this.reply(isBinary ? types.binary : types.text, message);
    return 1;
  }

  /** Bytes that wait for the client, and bytes whose progress report is overdue. */
  getBufferedAmount(): number {
    return this.progress.waiting + Math.max(0, this.sent - this.progress.received - 2 * REPORT_EVERY);
  }

  /** The receiver reports the client's progress. */
  onProgress(progress: RelayedProgress): void {
    const before = this.getBufferedAmount();
    this.progress = progress;
    if (this.getBufferedAmount() < before) this.receiver.onDrain();
  }

  end(code?: number, reason?: string): void {
    if (!this.open) return;
    this.reply(types.end, JSON.stringify({ code, reason }));
    this.closed(code ?? 1005, reason ?? '');
  }

  close(): void {
    this.cut(types.destroy);
  }

  dismiss(): void {
    this.cut(types.dismiss);
  }

  private cut(type: number): void {
    if (!this.open) return;
    this.reply(type);
    this.closed(1006, '');
  }

  /** The WebSocket is closed. */
  closed(code: number, reason: string): void {
    if (!this.open) return;
    this.open = false;
    this.onEnd();
    this.guards.frameGuard.closed(this.receiver, code, reason);
  }

  /** The client has sent a message. */
  onMessage(message: Buffer, isBinary: boolean): void {
    // Several may come at once.
    this.guards.frameGuard.message(this.receiver, message, isBinary, true);
  }

  cork(callback: () => void): void {
    callback();
  }
}
