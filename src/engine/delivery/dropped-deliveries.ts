import type { NativeWebSocket } from '../http/exchange.js';

/** Longer messages uWebSockets.js does not gather, in bytes: of each that it drops it tells. Its CORK_BUFFER_SIZE. */
const LONGEST_GATHERED = 16_383;

/** One message to a topic that uWebSockets.js may not have written yet. */
class Published {
  private encoded: Buffer | undefined;

  constructor(
    readonly topic: string,
    private readonly message: string | Uint8Array,
    readonly except: readonly NativeWebSocket[],
  ) {}

  /** As it is on the wire. Only made where something is dropped, and then once for all clients. */
  get bytes(): Buffer {
    this.encoded ??= typeof this.message === 'string' ? Buffer.from(this.message) : Buffer.from(this.message);
    return this.encoded;
  }
}

/**
 * Counts deliveries that were skipped because too many bytes wait for a client already. uWebSockets.js gathers what is
 * published and writes it subscriber by subscriber, up to 32 messages at a time; at the first one that is too much it
 * tells of that one, and silently drops the rest. The rest is what was published to the subscriber's topics since.
 */
export class DroppedDeliveries {
  count = 0;
  /** What was published lately, in order. */
  private list: Published[] = [];
  /** The number of the first in the list; each is one more than the one before. */
  private first = 0;
  /** Up to where the fate of what was published is known, for channels that have dropped something. */
  private readonly known = new Map<NativeWebSocket, number>();
  private isForgetting = false;

  /** To be called when a message was published. */
  published(topic: string, message: string | Uint8Array, except: readonly NativeWebSocket[]): void {
    if (!isGathered(message)) return;
    this.list.push(new Published(topic, message, except));
    if (!this.isForgetting) this.forgetLater();
  }

  /** To be called when uWebSockets.js tells of a message that it has dropped. */
  dropped(webSocket: NativeWebSocket, message: ArrayBuffer): void {
    const { list, first } = this;
    const bytes = Buffer.from(message);
    const topics = new Set(webSocket.getTopics());
    let skipped = 0;
    for (let index = Math.max(0, (this.known.get(webSocket) ?? 0) - first); index < list.length; index++) {
      const published = list[index]!;
      if (!topics.has(published.topic) || published.except.includes(webSocket)) continue;
      if (skipped > 0 || published.bytes.equals(bytes)) skipped++;
    }
    if (skipped > 0) this.known.set(webSocket, first + list.length);
    // One that stands for itself: it was sent to this client alone, or not gathered.
    else skipped = 1;
    this.count += skipped;
  }

  /** What was published is written by the end of the next turn of the event loop. */
  private forgetLater(): void {
    this.isForgetting = true;
    const { length } = this.list;
    setImmediate(() => {
      setImmediate(() => {
        this.isForgetting = false;
        this.list.splice(0, length);
        this.first += length;
        if (this.list.length > 0) this.forgetLater();
        else this.known.clear();
      });
    });
  }
}

function isGathered(message: string | Uint8Array): boolean {
  return Buffer.byteLength(message) <= LONGEST_GATHERED;
}
