import { closeCodeOf, type ErrorCode, GjallarError } from '../../base/errors.js';
import { own, reportFailure } from '../../base/owner.js';
import type { DeadlineQueue, Waiting } from '../../engine/deadlines.js';
import type { Engine } from '../../engine/engine.js';
import type { FrameReceiver, NativeWebSocket, WebSocketConnection } from '../../engine/http/exchange.js';
import { type CountedClient, canonicalAddress } from '../../engine/limits/address-limits.js';
import type { LimitedClient } from '../../engine/limits/rates.js';

/** What a member can do with its client. */
export interface PlainClient {
  /** Its WebSocket, while it is open and topics reach it. */
  readonly topicSocket: NativeWebSocket | undefined;
  /** Bytes that wait for the client. */
  readonly bufferedAmount: number;
  /** Sends texts to it alone, in order with those of its room. Lone surrogates become U+FFFD. */
  send(texts: readonly (string | Uint8Array)[]): void;
  /** Closes the connection, with the code as the reason. */
  refuse(code: ErrorCode): void;
}

/** A client that the application has admitted. What it throws closes the connection: a GjallarError with its code. */
export interface PlainMember {
  /** The room whose texts the client receives; undefined for a client that only gets what the member sends it. */
  readonly room: string | undefined;
  /** The WebSocket is open. The texts of the client wait until this has resolved. */
  enter(client: PlainClient): Promise<void>;
  /** The client has sent a text. */
  say(text: string): Promise<unknown>;
  /** The client is gone, entered or not. Called once. */
  leave(): void;
}

/** The state that the plain WebSockets of one engine share. */
export interface PlainHost<Member extends PlainMember> {
  readonly engine: Engine;
  readonly sockets: Set<PlainSocket<Member>>;
  /** Deadlines by which the clients must send something. */
  readonly silence: DeadlineQueue<PlainSocket<Member>>;
  /** `closed` by close code. */
  readonly counters: { opened: number; received: number; closed: Map<string, number> };
}

/** How many texts may wait before the room is joined. */
const MAX_WAITING_TEXTS = 100;
/** The longest text has 10,000 characters of at most four bytes each. */
const MAX_TEXT_BYTES = 40_960;

/** A text as UTF-8 can express it: native sockets would send lone surrogates, for which a client closes its connection. */
export function asUtf8Text<Text extends string | Uint8Array>(text: Text): string | Text {
  return typeof text === 'string' ? text.toWellFormed() : text;
}

/** One plain WebSocket. */
export class PlainSocket<Member extends PlainMember = PlainMember>
  implements FrameReceiver, PlainClient, Waiting<PlainSocket<Member>>, LimitedClient, CountedClient
{
  queue: DeadlineQueue<PlainSocket<Member>> | undefined;
  due = 0;
  previous: PlainSocket<Member> | undefined;
  next: PlainSocket<Member> | undefined;
  left: LimitedClient['left'] = undefined;
  countedAs: string | undefined;

  private webSocket: NativeWebSocket | undefined;
  private state: 'new' | 'open' | 'closed' = 'new';
  /** Texts received before the room is joined; undefined from then on. */
  private waiting: string[] | undefined = [];
  private pinged = 0;
  private saying = 0;

  constructor(
    readonly member: Member,
    /** The client's address. */
    readonly address: string,
    private readonly topic: string | undefined,
    private readonly host: PlainHost<Member>,
  ) {}

  onOpen(webSocket: WebSocketConnection): void {
    this.webSocket = webSocket as NativeWebSocket;
    this.state = 'open';
    this.host.counters.opened++;
    this.host.sockets.add(this);
    if (this.topic !== undefined) this.host.engine.outbox.subscribe(this.webSocket, this.topic);
    this.host.silence.add(this);
    own('letting a plain WebSocket in', this.enter());
  }

  onMessage(message: ArrayBuffer | Buffer, isBinary: boolean): void {
    this.host.counters.received++;
    const { talkers } = this.host.engine;
    if (talkers.isDue()) talkers.add(this.address);
    if (this.state !== 'open') return;
    this.onControlFrame();
    if (isBinary) return this.refuse('BAD_FRAME');
    const bytes = Buffer.from(message as ArrayBuffer);
    if (bytes.length > MAX_TEXT_BYTES) return this.refuse('BAD_TEXT');
    const text = bytes.toString();
    const { messageLimits, counters } = this.host.engine;
    if (messageLimits && messageLimits.consume(this, text) !== 'within') {
      counters.overLimit++;
      return this.refuse('RATE_LIMITED');
    }
    // Some clients keep their connection open with empty messages.
    if (text === '') return;
    if (!this.waiting) own('handling a text of a plain WebSocket', this.say(text));
    else if (this.waiting.length < MAX_WAITING_TEXTS) this.waiting.push(text);
    else this.refuse('HISTORY_UNAVAILABLE');
  }

  /** The client is alive. */
  onControlFrame(): void {
    this.pinged = 0;
    if (this.webSocket) this.host.silence.add(this);
  }

  onDrain(): void {}

  onOverflow(): void {
    this.refuse('SLOW_CLIENT');
  }

  onFlood(): void {
    this.host.engine.counters.overLimit++;
    this.refuse('RATE_LIMITED');
  }

  onDetached(): void {
    this.webSocket = undefined;
    this.queue?.remove(this);
  }

  onClose(code: number): void {
    const { closed } = this.host.counters;
    // Clients may invent codes of their own.
    const reason = code < 1016 ? String(code) : 'other';
    closed.set(reason, (closed.get(reason) ?? 0) + 1);
    this.host.engine.addresses?.leave(this);
    this.release();
  }

  onSilence(pings: number): void {
    // A close frame would not reach the client.
    if (this.pinged === pings) return void this.webSocket?.close();
    this.pinged++;
    this.sendPing();
    this.host.silence.add(this);
  }

  get bufferedAmount(): number {
    const { webSocket } = this;
    return webSocket ? webSocket.getBufferedAmount() + this.host.engine.outbox.heldFor(webSocket) : 0;
  }

  get topicSocket(): NativeWebSocket | undefined {
    return this.state === 'open' ? this.webSocket : undefined;
  }

  send(texts: readonly (string | Uint8Array)[]): void {
    const { webSocket } = this;
    if (webSocket) for (const text of texts) this.host.engine.outbox.send(webSocket, asUtf8Text(text), false, false);
  }

  /** Whether the client has this address, however it is written. */
  comesFrom(address: string): boolean {
    return canonicalAddress(this.address) === canonicalAddress(address);
  }

  sendPing(): void {
    this.webSocket?.ping();
  }

  /** Whether every text of the client is posted or rejected. */
  get isQuiet(): boolean {
    return this.saying === 0 && this.waiting === undefined;
  }

  end(code: number, reason: string): void {
    const { outbox, closing } = this.host.engine;
    // What was sent to the client earlier must be written first.
    if (this.topic === undefined) outbox.flush();
    else outbox.flushTopic(this.topic);
    const { webSocket } = this;
    // A slow client may receive the close frame late, so it leaves the room now.
    this.release();
    if (webSocket) closing.end(webSocket, code, reason);
  }

  /** Leaves the room. Texts that the client still sends are ignored. */
  private release(): void {
    this.webSocket = undefined;
    if (this.state !== 'open') return;
    this.state = 'closed';
    this.waiting = [];
    this.host.sockets.delete(this);
    this.queue?.remove(this);
    this.member.leave();
  }

  refuse(code: ErrorCode): void {
    this.end(closeCodeOf(code), code);
  }

  private async enter(): Promise<void> {
    try {
      await this.member.enter(this);
      const waiting = this.waiting ?? [];
      this.waiting = this.state === 'open' ? undefined : [];
      for (const text of waiting) own('handling a text of a plain WebSocket', this.say(text));
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
    if (!(error instanceof GjallarError)) reportFailure('serving a plain WebSocket', error);
    this.refuse(error instanceof GjallarError ? error.code : 'INTERNAL');
  }
}
