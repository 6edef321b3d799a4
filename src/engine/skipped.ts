import type { NativeChannel } from './exchange.js';

/** One message to a topic that uWebSockets.js may not have written yet. */
interface Published {
  readonly number: number;
  readonly topic: string;
  readonly message: string | Uint8Array;
  readonly except: readonly NativeChannel[];
}

/**
 * Counts deliveries that were skipped because too many bytes wait for a client already. uWebSockets.js gathers what is
 * published and writes it subscriber by subscriber, up to 32 messages at a time; at the first one that is too much it
 * tells of that one, and silently drops the rest. The rest is what was published to the subscriber's topics since.
 */
export class SkippedDeliveries {
  count = 0;
  private numbers = 0;
  private recent: Published[] = [];
  private older: Published[] = [];
  /** Up to where the fate of what was published is known, for channels that have dropped something. */
  private readonly known = new Map<NativeChannel, number>();
  private isForgetting = false;

  /** To be called when a message was published. */
  published(topic: string, message: string | Uint8Array, except: readonly NativeChannel[]): void {
    this.recent.push({ number: this.numbers++, topic, message, except });
    if (!this.isForgetting) this.forgetLater();
  }

  /** To be called when uWebSockets.js tells of a message that it has dropped. */
  dropped(channel: NativeChannel, message: ArrayBuffer): void {
    const bytes = Buffer.from(message);
    const topics = new Set(channel.getTopics());
    const from = this.known.get(channel) ?? 0;
    const its = [...this.older, ...this.recent].filter(
      ({ topic, except }) => topics.has(topic) && !except.includes(channel),
    );
    const first = its.findIndex((published) => isSame(published.message, bytes));
    // One that was sent to this client alone.
    if (first === -1) {
      this.count++;
      return;
    }
    for (const { number } of its.slice(first)) if (number >= from) this.count++;
    this.known.set(channel, this.numbers);
  }

  /** What was published is written by the end of the next turn of the event loop. */
  private forgetLater(): void {
    this.isForgetting = true;
    setImmediate(() => {
      setImmediate(() => {
        this.isForgetting = false;
        this.older = this.recent;
        this.recent = [];
        if (this.older.length > 0) this.forgetLater();
        else this.known.clear();
      });
    });
  }
}

function isSame(message: string | Uint8Array, bytes: Buffer): boolean {
  if (typeof message !== 'string') return message.length === bytes.length && bytes.equals(message);
  return message.length <= bytes.length && bytes.toString() === message;
}
