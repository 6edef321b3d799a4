import { type HeldBytes, Holder } from '../delivery/held-bytes.js';
import type { BodyCallback, BodyError } from '../http/exchange.js';
import type { EngineRequest } from '../http/request.js';
import { PartsOfBody } from '../incoming/parts-of-body.js';
import type { HttpResponse } from './app.js';

/**
 * Collects a body from the start of the request, because uWebSockets.js does not keep its bytes. `res.pause()` is not
 * used: it saves its state once for all sockets. After a partial write, it can leave a socket that is never read again.
 */
export class BodyCollector extends Holder {
  private error: BodyError | undefined;
  private readonly parts = new PartsOfBody();
  private received = 0;
  private complete = false;
  private done: BodyCallback | undefined;

  constructor(res: HttpResponse, request: EngineRequest, maxBody: number, incoming: HeldBytes) {
    super(incoming);
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
      this.parts.add(chunk);
      if (isLast) this.finish();
      // Most bodies come in one part, and are handled at once.
      if (this.parts.size > this.bufferedAmount) this.hold(this.parts.size - this.bufferedAmount);
    });
  }

  /** Whether all of it has arrived. */
  get isWhole(): boolean {
    return this.complete && !this.error;
  }

  whenDone(done: BodyCallback): void {
    this.done = done;
    if (this.complete) this.report();
  }

  /** The body is no longer needed, so the rest of it is dropped. */
  giveUp(): void {
    this.error = 'aborted';
    this.done = undefined;
    this.drop();
  }

  fail(error: BodyError): void {
    if (this.complete) {
      // The body may still be read, but it may also be forgotten from now on.
      if (error === 'aborted') this.letGo();
      return;
    }
    this.error = error;
    this.drop();
    this.finish();
  }

  /** Too many bytes wait from all clients together. */
  onOverflow(): void {
    this.complete = false;
    this.fail('overloaded');
  }

  private drop(): void {
    this.parts.take();
    this.letGo();
  }

  private finish(): void {
    this.complete = true;
    if (this.done) this.report();
  }

  private report(): void {
    const { done } = this;
    this.done = undefined;
    this.letGo();
    done?.(this.error, this.parts.take());
  }
}
