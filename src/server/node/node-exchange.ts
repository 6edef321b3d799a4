import type { IncomingMessage, ServerResponse } from 'node:http';
import { CountedBytes } from '../../engine/delivery/counted-bytes.js';
import { type Buffers, type HeldBytes, Holder } from '../../engine/delivery/held-bytes.js';
import type {
  BodyCallback,
  BodyError,
  CollectedResponse,
  HttpExchange,
  ResponseHeaders,
} from '../../engine/http/exchange.js';
import type { EngineRequest } from '../../engine/http/request.js';
import { PartsOfBody } from '../../engine/incoming/parts-of-body.js';

/** A request to the engine on a port of node:http. */
export class NodeHttpExchange implements HttpExchange {
  finished = false;
  onAborted: (() => void) | undefined;
  onAnswerNow: (() => void) | undefined;
  onComplete: (() => void) | undefined;
  middlewareResponse: CollectedResponse | undefined;
  /** The response, until the client has read it. */
  private readonly unread: CountedBytes;

  /** @param maxBody in bytes */
  constructor(
    readonly request: EngineRequest,
    private readonly message: IncomingMessage,
    private readonly response: ServerResponse,
    private readonly maxBody: number,
    private readonly buffers: Buffers,
  ) {
    const { outgoing } = buffers;
    this.unread = new CountedBytes(outgoing, () => message.socket.destroy());
    response.once('close', () => {
      this.unread.set(0);
      this.onComplete?.();
      if (this.finished) return;
      this.finished = true;
      this.onAborted?.();
    });
    message.on('error', () => {});
  }

  /** Identifies the connection: node:http reads on before the response. */
  get connection(): object {
    return this.message.socket;
  }

  readBody(done: BodyCallback): void {
    const { message, maxBody } = this;
    const { 'content-length': length, 'transfer-encoding': coding } = message.headers;
    const fail = (error: BodyError) => done(error, Buffer.alloc(0));
    if (!Number(length) && !coding) return fail('length required');
    if (Number(length) > maxBody) return fail('too large');
    const body = new Body(message, maxBody, this.buffers.incoming, (error, bytes) => {
      if (!this.finished) done(error, bytes);
    });
    message.once('end', () => body.end());
    message.once('close', () => body.end('aborted'));
  }

  send(status: number, headers: ResponseHeaders, body: string | Uint8Array): void {
    if (this.finished) return;
    this.finished = true;
    // Without it, node:http sends the body in chunks. A response without a body of its own has none.
    if (status !== 204 && status !== 304) this.response.setHeader('Content-Length', Buffer.byteLength(body));
    this.response.writeHead(status, headers);
    this.response.end(body);
    if (this.response.writableLength > 0) this.unread.set(body.length);
  }

  destroy(): void {
    if (this.finished) return;
    this.finished = true;
    this.message.socket.destroy();
  }
}

/** The body of a request. */
class Body extends Holder {
  private readonly parts = new PartsOfBody();
  private received = 0;
  private isOver = false;

  constructor(
    message: IncomingMessage,
    maxBody: number,
    incoming: HeldBytes,
    private readonly done: BodyCallback,
  ) {
    super(incoming);
    message.on('data', (part: Buffer) => {
      if (this.isOver) return;
      this.received += part.length;
      if (this.received > maxBody) return this.end('too large');
      this.parts.add(part);
      if (this.parts.size > this.bufferedAmount) this.hold(this.parts.size - this.bufferedAmount);
    });
  }

  onOverflow(): void {
    this.end('overloaded');
  }

  end(error?: BodyError): void {
    if (this.isOver) return;
    this.isOver = true;
    this.letGo();
    const body = this.parts.take();
    this.done(error, error ? Buffer.alloc(0) : body);
  }
}
