import type { IncomingMessage, ServerResponse } from 'node:http';
import type {
  BodyCallback,
  BodyError,
  CollectedResponse,
  HttpExchange,
  ResponseHeaders,
} from '../../engine/http/exchange.js';
import type { EngineRequest } from '../../engine/http/request.js';

/** A request to the engine on a port of node:http. */
export class NodeHttpExchange implements HttpExchange {
  finished = false;
  onAborted: (() => void) | undefined;
  onAnswerNow: (() => void) | undefined;
  onComplete: (() => void) | undefined;
  middlewareResponse: CollectedResponse | undefined;

  /** @param maxBody in bytes */
  constructor(
    readonly request: EngineRequest,
    private readonly message: IncomingMessage,
    private readonly response: ServerResponse,
    private readonly maxBody: number,
  ) {
    response.once('close', () => {
      this.onComplete?.();
      if (this.finished) return;
      this.finished = true;
      this.onAborted?.();
    });
    message.on('error', () => {});
  }

  readBody(done: BodyCallback): void {
    const { message, maxBody } = this;
    const { 'content-length': length, 'transfer-encoding': coding } = message.headers;
    const fail = (error: BodyError) => done(error, Buffer.alloc(0));
    if (!Number(length) && !coding) return fail('length required');
    if (Number(length) > maxBody) return fail('too large');
    const parts: Buffer[] = [];
    let received = 0;
    let isOver = false;
    const end = (error?: BodyError) => {
      if (isOver) return;
      isOver = true;
      if (this.finished) return;
      if (error) fail(error);
      else done(undefined, Buffer.concat(parts));
    };
    message.on('data', (part: Buffer) => {
      received += part.length;
      if (received > maxBody) end('too large');
      else if (!isOver) parts.push(part);
    });
    message.once('end', () => end());
    message.once('close', () => end('aborted'));
  }

  send(status: number, headers: ResponseHeaders, body: string | Uint8Array): void {
    if (this.finished) return;
    this.finished = true;
    this.response.writeHead(status, headers);
    this.response.end(body);
  }

  destroy(): void {
    if (this.finished) return;
    this.finished = true;
    this.message.socket.destroy();
  }
}
