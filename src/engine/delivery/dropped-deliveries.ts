import type { NativeWebSocket } from '../http/exchange.js';

/** In bytes. uWebSockets.js does not gather longer messages, and reports each that it drops. Its CORK_BUFFER_SIZE. */
const LONGEST_GATHERED = 16_383;

/** One message to a topic that uWebSockets.js may not have written yet. */
class Published {
  private encoded: Buffer | undefined;

  constructor(
    readonly topic: string,
    private readonly message: string | Uint8Array,
    readonly except: readonly NativeWebSocket[],
  ) {}

  /** The bytes on the wire. They are created only after a drop, and then once for all clients. */
  get bytes(): Buffer {
    this.encoded ??= typeof this.message === 'string' ? Buffer.from(this.message) : Buffer.from(this.message);
    return this.encoded;
  }
}

/**
 * Counts deliveries that are dropped because too many bytes wait for a client. uWebSockets.js gathers up to 32
 * published messages, and writes them subscriber by subscriber. It reports the first message that exceeds the limit,
 * and silently drops the rest. The rest are the messages published to the subscriber's topics since then.
 */
export class DroppedDeliveries {
  count = 0;
  /** Recently published messages, in order. */
  private list: Published[] = [];
  /** The number of the first message in the list. Messages are numbered consecutively. */
  private first = 0;
  /** For WebSockets with drops: the number of the message up to which drops are counted. */
  private readonly known = new Map<NativeWebSocket, number>();
  private isForgetting = false;

  /** Call this when a message was published. */
  published(topic: string, message: string | Uint8Array, except: readonly NativeWebSocket[]): void {
    if (!isGathered(message)) return;
    this.list.push(new Published(topic, message, except));
    if (!this.isForgetting) this.forgetLater();
  }

  /** Call this when uWebSockets.js reports a message that it has dropped. */
  dropped(webSocket: NativeWebSocket, message: ArrayBuffer | Buffer): void {
    const { list, first } = this;
    const bytes = Buffer.from(message as ArrayBuffer);
    const topics = new Set(webSocket.getTopics());
    let skipped = 0;
    for (let index = Math.max(0, (this.known.get(webSocket) ?? 0) - first); index < list.length; index++) {
      const published = list[index]!;
      if (!topics.has(published.topic) || published.except.includes(webSocket)) continue;
      if (skipped > 0 || published.bytes.equals(bytes)) skipped++;
    }
    if (skipped > 0) this.known.set(webSocket, first + list.length);
    // The message was sent to this client alone, or was not gathered.
    else skipped = 1;
    this.count += skipped;
  }

  /** Published messages are written by the end of the next turn of the event loop. */
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
