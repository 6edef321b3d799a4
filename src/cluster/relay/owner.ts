import type {
  BodyCallback,
  BodyError,
  Channel,
  Exchange,
  FrameReceiver,
  ResponseHeaders,
  UpgradeExchange,
} from '../../engine/exchange.js';
import type { MiddlewareResponse } from '../../engine/middleware.js';
import { EngineRequest } from '../../engine/request.js';
import { encodeBody, type Op, ops, type RelayedRequest, type RelayedResponse } from './messages.js';

/** Sends one message back to the receiver. */
export type Reply = (op: Op, body?: string | Uint8Array) => void;

/** A request that another worker has received, as its owner sees it. */
export class RelayedExchange implements Exchange {
  readonly request: EngineRequest;
  finished = false;
  onAborted: (() => void) | undefined;
  middlewareResponse: MiddlewareResponse | undefined;

  constructor(
    private readonly relayed: RelayedRequest,
    private readonly body: Buffer,
    protected readonly reply: Reply,
    /** Called when the exchange is over. */
    protected readonly over: () => void,
  ) {
    this.request = new EngineRequest(relayed.parts);
  }

  readBody(done: BodyCallback): void {
    done(this.relayed.bodyError as BodyError | undefined, this.body);
  }

  send(status: number, headers: ResponseHeaders, body: string | Uint8Array): void {
    if (this.finished) return;
    const response: RelayedResponse = { status, headers, isText: typeof body === 'string' };
    this.reply(ops.response, encodeBody(response, body));
    this.finish();
  }

  destroy(): void {
    if (this.finished) return;
    this.reply(ops.destroy);
    this.finish();
  }

  /** The client, or the worker it is connected to, has gone. */
  abort(): void {
    if (this.finished) return;
    this.finish();
    this.onAborted?.();
  }

  protected finish(): void {
    this.finished = true;
    this.over();
  }
}

/** A request for a WebSocket that another worker has received. */
export class RelayedUpgrade extends RelayedExchange implements UpgradeExchange {
  /** The WebSocket, once it was accepted. */
  channel: RelayedChannel | undefined;

  accept(headers: ResponseHeaders, receiver: FrameReceiver): void {
    if (this.finished) return;
    this.finished = true;
    this.reply(ops.accept, encodeBody(headers));
    this.channel = new RelayedChannel(receiver, this.reply, this.over);
    receiver.onOpen(this.channel);
  }
}

/** A WebSocket that another worker holds. It has no topics here: whoever broadcasts sends to it one by one. */
export class RelayedChannel implements Channel {
  private buffered = 0;
  private open = true;

  constructor(
    readonly receiver: FrameReceiver,
    private readonly reply: Reply,
    private readonly over: () => void,
  ) {}

  send(message: string | Uint8Array, isBinary: boolean, compress: boolean): number {
    if (!this.open) return 1;
    if (compress) this.reply(isBinary ? ops.compressedBinary : ops.compressedText, message);
    else this.reply(isBinary ? ops.binary : ops.text, message);
    return 1;
  }

  getBufferedAmount(): number {
    return this.buffered;
  }

  /** The receiver tells how much waits for the client. */
  setBufferedAmount(bytes: number): void {
    this.buffered = bytes;
    if (bytes === 0) this.receiver.onDrain();
  }

  end(code?: number, reason?: string): void {
    if (!this.open) return;
    this.reply(ops.end, JSON.stringify({ code, reason }));
    this.closed(code ?? 1005, reason ?? '');
  }

  close(): void {
    if (!this.open) return;
    this.reply(ops.destroy);
    this.closed(1006, '');
  }

  /** The WebSocket is closed. */
  closed(code: number, reason: string): void {
    if (!this.open) return;
    this.open = false;
    this.over();
    this.receiver.onClose(code, reason);
  }

  cork(callback: () => void): void {
    callback();
  }
}
