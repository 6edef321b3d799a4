import type { WebSocket } from 'uWebSockets.js';
import { atTime } from '../accounts/identity.js';
import type { DeadlineQueue, Waiting } from '../engine/deadlines.js';
import type { Engine } from '../engine/engine.js';
import type { FrameReceiver } from '../engine/http/exchange.js';
import type { SocketData } from '../engine/uws/uws-exchange.js';
import { closeCodeOf, type ErrorCode, GjallarError } from '../errors.js';

/** Somebody who was let into a room. */
export interface Member {
  readonly room: string;
  /** When the membership ends, in ms since 1970. */
  readonly expires?: number;
  /** Joins the room. @throws GjallarError HISTORY_UNAVAILABLE */
  enter(): Promise<void>;
  /** @throws GjallarError BAD_TEXT, HISTORY_… */
  say(text: string): Promise<unknown>;
  /** Leaves the room, entered or not. */
  leave(): void;
}

/** How much may be said before the room is joined. */
const MAX_WAITING_TEXTS = 100;

/** One plain WebSocket: a member of one room. */
export class PlainSocket implements FrameReceiver, Waiting<PlainSocket> {
  queue: DeadlineQueue<PlainSocket> | undefined;
  due = 0;
  previous: PlainSocket | undefined;
  next: PlainSocket | undefined;

  private ws: WebSocket<SocketData> | undefined;
  /** What was said before the room was joined; undefined from then on. */
  private waiting: string[] | undefined = [];
  private pinged = 0;
  private saying = 0;
  private cancelExpiry: (() => void) | undefined;

  constructor(
    private readonly member: Member,
    private readonly topic: string,
    private readonly engine: Engine,
    private readonly all: Set<PlainSocket>,
    private readonly silence: DeadlineQueue<PlainSocket>,
  ) {}

  opened(ws: WebSocket<SocketData>): void {
    this.ws = ws;
    this.all.add(this);
    ws.subscribe(this.topic);
    this.silence.add(this);
    this.cancelExpiry = atTime(this.member.expires, () => this.refuse('TOKEN_EXPIRED'));
    void this.enter();
  }

  /** `opened` does what is to be done; this one is the engine's. */
  onOpen(): void {}

  onMessage(message: ArrayBuffer | Buffer, isBinary: boolean): void {
    if (!this.ws) return;
    this.touch();
    if (isBinary) return this.refuse('BAD_FRAME');
    const text = Buffer.from(message as ArrayBuffer).toString();
    const { messageLimits, counters } = this.engine;
    if (messageLimits && messageLimits.consume(this, text) !== 'within') {
      counters.overLimit++;
      return this.refuse('RATE_LIMITED');
    }
    // Some clients keep their connection open with empty messages.
    if (text === '') return;
    if (!this.waiting) void this.say(text);
    else if (this.waiting.length < MAX_WAITING_TEXTS) this.waiting.push(text);
    else this.refuse('HISTORY_UNAVAILABLE');
  }

  onDrain(): void {
    this.engine.slow.progressed(this);
  }

  onOverflow(): void {
    this.refuse('SLOW_CLIENT');
  }

  onClose(): void {
    if (!this.ws) return;
    this.ws = undefined;
    this.cancelExpiry?.();
    this.waiting = [];
    this.all.delete(this);
    this.queue?.remove(this);
    this.engine.slow.forget(this);
    this.member.leave();
  }

  /** The client has given a sign of life. */
  touch(): void {
    this.pinged = 0;
    if (this.ws) this.silence.add(this);
  }

  onSilence(pings: number): void {
    // Nobody is there to read a close frame.
    if (this.pinged === pings) return void this.ws?.close();
    this.pinged++;
    this.engine.slow.ping(this);
    this.silence.add(this);
  }

  get bufferedAmount(): number {
    return this.ws?.getBufferedAmount() ?? 0;
  }

  sendPing(): void {
    this.ws?.ping();
  }

  /** Whether everything that its client has said is kept, or refused. */
  get isQuiet(): boolean {
    return this.saying === 0 && this.waiting === undefined;
  }

  end(code: number, reason: string): void {
    // What was sent to the room before goes out before.
    this.engine.outbox.settle(this.topic);
    const { ws } = this;
    if (!ws) return;
    // A client that is behind may take a while to learn it.
    this.onClose();
    this.engine.closing.end(ws, code, reason);
  }

  private refuse(code: ErrorCode): void {
    this.end(closeCodeOf(code), code);
  }

  private async enter(): Promise<void> {
    try {
      await this.member.enter();
      const waiting = this.waiting ?? [];
      this.waiting = this.ws && undefined;
      for (const text of waiting) void this.say(text);
    } catch (error) {
      this.fail(error);
    }
  }

  private async say(text: string): Promise<void> {
    this.saying++;
    try {
      await this.member.say(text);
    } catch (error) {
      this.fail(error);
    } finally {
      this.saying--;
    }
  }

  private fail(error: unknown): void {
    this.refuse(error instanceof GjallarError ? error.code : 'INTERNAL');
  }
}
