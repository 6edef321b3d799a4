import type { HttpResponse } from 'uWebSockets.js';
import type { BodyCallback, BodyError } from '../http/exchange.js';
import type { EngineRequest } from '../http/request.js';

/**
 * Collects a body from the start of the request, because uWebSockets.js does not keep its bytes. `res.pause()` is not
 * used: it saves its state once for all sockets. After a partial write, it can leave a socket that is never read again.
 */
export class BodyCollector {
  private error: BodyError | undefined;
  private chunks: Buffer[] = [];
  private received = 0;
  private complete = false;
  private done: BodyCallback | undefined;

  constructor(res: HttpResponse, request: EngineRequest, maxBody: number) {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
    const expected = Number(length);
    if (expected > maxBody) this.fail('too large');
    else if (expected || encoding) this.collect(res, expected || undefined, maxBody);
    else this.fail('length required');
  }

  /** `expected` is undefined for a chunked body. */
  private collect(res: HttpResponse, expected: number | undefined, maxBody: number): void {
    res.onData((chunk, isLast) => {
      if (this.error) return;
      this.received += chunk.byteLength;
      if (this.received > maxBody) return this.fail('too large');
      if (expected && (isLast ? this.received !== expected : this.received > expected)) {
        return this.fail('length mismatch');
      }
      // The chunk's memory belongs to uWebSockets.js, so only a copy may be kept.
      this.chunks.push(Buffer.from(new Uint8Array(chunk)));
      if (isLast) this.finish();
    });
  }

  whenDone(done: BodyCallback): void {
    this.done = done;
    if (this.complete) this.report();
  }

  /** The body is no longer needed, so the rest of it is dropped. */
  giveUp(): void {
    this.error = 'aborted';
    this.chunks = [];
    this.done = undefined;
  }

  fail(error: BodyError): void {
    if (this.complete) return;
    this.error = error;
    this.chunks = [];
    this.finish();
  }

  private finish(): void {
    this.complete = true;
    if (this.done) this.report();
  }

  private report(): void {
    const { done, chunks } = this;
    this.done = undefined;
    this.chunks = [];
    done?.(this.error, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
  }
}
