import { emittedFrame } from '../backplanes/frames/wire/emitted.js';
import { GjallarError } from '../errors.js';
import type { Connection } from './connection.js';

/** Above this number of bytes, messages do not wait for the end of the turn. */
const MAX_HELD_BYTES = 1024 * 1024;

/** What became of messages. */
export interface Delivery {
  /**
   * How many workers were subscribed when Redis took the messages; if that differs, the least. It does not say how many of them
   * have received them. 0 means that no server listens: it is not running, or uses another prefix or bus. Undefined if nothing
   * was sent, and with NATS, which does not say it.
   */
  readonly subscribers: number | undefined;
}

/** Sends messages in order: all of one turn of the event loop together. */
export class Outgoing {
  private held: Buffer[] = [];
  private heldBytes = 0;
  /** Resolves when the server has everything that was sent so far. */
  private sent: Promise<unknown> = Promise.resolve();
  private subscribers: number | undefined;
  private failure: { readonly error: unknown; readonly messages: number } | undefined;

  /** @param onError called with each failure; it may do nothing, because `flush` rejects, too */
  constructor(
    private readonly connection: Connection,
    private readonly channel: string,
    private readonly onError: (error: GjallarError) => void,
  ) {}

  add(message: Buffer): void {
    if (this.held.length === 0) queueMicrotask(() => this.send());
    this.held.push(message);
    this.heldBytes += message.length;
    if (this.heldBytes > MAX_HELD_BYTES) this.send();
  }

  /**
   * Resolves when the server has received everything.
   * @throws GjallarError EMIT_FAILED if something that was sent since the last call was lost
   */
  async flush(): Promise<Delivery> {
    this.send();
    await this.sent;
    const { failure, subscribers } = this;
    this.failure = undefined;
    this.subscribers = undefined;
    if (failure) throw failed(failure);
    return { subscribers };
  }

  private send(): void {
    const { held } = this;
    if (held.length === 0) return;
    this.held = [];
    this.heldBytes = 0;
    const published = this.connection.publish(this.channel, emittedFrame(held)).then(
      (subscribers) => {
        if (subscribers !== undefined) this.subscribers = Math.min(subscribers, this.subscribers ?? subscribers);
      },
      (error: unknown) => {
        const { messages = 0 } = this.failure ?? {};
        this.failure = { error, messages: messages + held.length };
        this.onError(failed({ error, messages: held.length }));
      },
    );
    this.sent = Promise.all([this.sent, published]);
  }
}

function failed({ error, messages }: { error: unknown; messages: number }): GjallarError {
  const reason = error instanceof Error ? error.message : String(error);
  const lost = messages === 1 ? '1 message of an emitter is' : `${messages} messages of an emitter are`;
  return new GjallarError(
    'EMIT_FAILED',
    `${lost} lost: ${reason}. Check the connection with Redis or NATS, and emit again.`,
  );
}
