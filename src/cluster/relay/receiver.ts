import { handshakeErrors } from '../../base/errors.js';
import type { Closing } from '../../engine/delivery/closing.js';
import type { SlowClients } from '../../engine/delivery/slow-clients.js';
import type { FrameReceiver, HttpExchange, UpgradeExchange, WebSocketConnection } from '../../engine/http/exchange.js';
import { types } from '../wire/types.js';
import {
  asClose,
  asHeaders,
  asResponse,
  decodeBody,
  encodeBody,
  parseRelayJson,
  REPORT_EVERY,
  type RelayedClose,
  type RelayedProgress,
  type SendOp,
} from './messages.js';

/** A connection on this worker's port whose session is on another worker. */
export interface ReceivedConnection {
  onReply(type: number, body: Buffer): void;
  /** The owner has died. */
  onOwnerGone(): void;
  /** This worker is stopping: ends the connection. */
  leave(): void;
}

/** Answers a client whose worker has died as the protocol answers any unknown session. */
function answerUnknown(exchange: HttpExchange): void {
  const { code, status, message } = handshakeErrors.UNKNOWN_SID;
  exchange.send(status, { 'Content-Type': 'application/json' }, JSON.stringify({ code, message }));
}

/** Answers a client with the owner's response. `onEnd` is called unless the response is malformed. */
function answer(exchange: HttpExchange, body: Buffer, onEnd: () => void): void {
  const { value, rest } = decodeBody(body, asResponse);
  onEnd();
  exchange.send(value.status, value.headers, value.isText ? rest.toString() : rest);
}

/** An HTTP request whose session is on another worker. */
export class ReceivedRequest implements ReceivedConnection {
  constructor(
    private readonly exchange: HttpExchange,
    private readonly forward: SendOp,
    private readonly onEnd: () => void,
    private readonly hops: number,
  ) {}

  start(): void {
    const { exchange, forward, hops } = this;
    const parts = exchange.request.toParts();
    exchange.onAborted = () => {
      forward(types.abort);
      this.onEnd();
    };
    if (exchange.request.method !== 'POST') return forward(types.request, encodeBody({ parts, hops }));
    exchange.readBody((bodyError, body) => {
      if (bodyError === 'aborted') this.onEnd();
      else forward(types.request, encodeBody({ parts, bodyError, hops }, body));
    });
  }

  onReply(type: number, body: Buffer): void {
    if (type === types.destroy) {
      this.onEnd();
      return this.exchange.destroy();
    }
    answer(this.exchange, body, this.onEnd);
    if (this.exchange.request.method !== 'POST') return;
    if (this.exchange.whenWritten) this.exchange.whenWritten(() => this.forward(types.written));
    else this.forward(types.written);
  }

  onOwnerGone(): void {
    answerUnknown(this.exchange);
  }

  leave(): void {
    this.forward(types.answerNow);
  }
}

/** The parts of the relay that a received WebSocket uses. */
export interface ReceiverHost {
  readonly closing: Closing;
  readonly slow: Pick<SlowClients, 'isOverflowing'>;
}

/** A WebSocket whose session is on another worker. */
export class ReceivedUpgrade implements ReceivedConnection, FrameReceiver {
  private webSocket: WebSocketConnection | undefined;
  private received = 0;
  private reported: RelayedProgress = { received: 0, waiting: 0 };
  /** Whether the client has lost a message, so that it must get none of the later ones. */
  private hasLost = false;

  constructor(
    private readonly exchange: UpgradeExchange,
    private readonly forward: SendOp,
    private readonly onEnd: () => void,
    /** Adopts the session on this worker, and then handles the request. */
    private readonly adopt: (session: Buffer, exchange: UpgradeExchange) => void,
    private readonly host: ReceiverHost,
    private readonly hops: number,
  ) {}

  start(): void {
    this.exchange.onAborted = () => {
      this.forward(types.abort);
      this.onEnd();
    };
    this.forward(types.upgrade, encodeBody({ parts: this.exchange.request.toParts(), hops: this.hops }));
  }

  onReply(type: number, body: Buffer): void {
    switch (type) {
      case types.accept:
        this.exchange.accept(decodeBody(body, asHeaders).value, this);
        if (!this.webSocket) this.onClose(1006, '');
        return;
      case types.move:
        this.onEnd();
        this.exchange.onAborted = undefined;
        return this.adopt(body, this.exchange);
      case types.text:
      case types.binary:
      case types.compressedText:
      case types.compressedBinary:
        return this.send(type, body);
      case types.end: {
        const { code, reason } = asClose(parseRelayJson(body.toString()));
        this.onEnd();
        if (this.webSocket) this.host.closing.end(this.webSocket, code, reason);
        return;
      }
      case types.dismiss:
        this.onEnd();
        if (this.webSocket) this.host.closing.dismiss(this.webSocket);
        return;
      case types.destroy:
        this.onEnd();
        if (this.webSocket) this.webSocket.close();
        else this.exchange.destroy();
        return;
      case types.response:
        return answer(this.exchange, body, this.onEnd);
    }
  }

  private send(type: number, body: Buffer): void {
    if (!this.webSocket || this.hasLost || this.host.slow.isOverflowing(this)) return;
    const isBinary = type === types.binary || type === types.compressedBinary;
    const compress = type === types.compressedText || type === types.compressedBinary;
    this.webSocket.send(body, isBinary, compress);
    this.received += body.length;
    this.report();
  }

  private report(): void {
    const { received, reported } = this;
    const waiting = this.webSocket?.getBufferedAmount() ?? 0;
    const isNews = waiting > 0 !== reported.waiting > 0 || waiting < reported.waiting;
    if (!isNews && received - reported.received < REPORT_EVERY) return;
    this.reported = { received, waiting };
    this.forward(types.progress, JSON.stringify(this.reported));
  }

  onOwnerGone(): void {
    if (this.webSocket) this.webSocket.close();
    else answerUnknown(this.exchange);
  }

  leave(): void {
    if (this.webSocket) this.host.closing.dismiss(this.webSocket);
  }

  onOpen(webSocket: WebSocketConnection): void {
    this.webSocket = webSocket;
  }

  onMessage(message: ArrayBuffer | Buffer, isBinary: boolean): void {
    this.forward(isBinary ? types.clientBinary : types.clientText, new Uint8Array(message as ArrayBuffer));
  }

  onDrain(): void {
    this.report();
  }

  onOverflow(): void {
    this.hasLost = true;
    this.forward(types.overflow);
  }

  onFlood(): void {
    this.webSocket?.close();
  }

  onDetached(): void {
    this.webSocket = undefined;
  }

  onClose(code: number, reason: string): void {
    this.webSocket = undefined;
    this.forward(types.closed, JSON.stringify({ code, reason } satisfies RelayedClose));
    this.onEnd();
  }
}
