import { type Clock, DeadlineQueue, systemClock, type Waiting } from '../deadlines.js';
import { type Channel, isNative } from '../http/exchange.js';

/** How long a client that is behind may take for what waits, before it is cut off, in ms. */
const GRACE = 10_000;

/**
 * WebSockets that end while something still waits for their client. A close frame has to queue behind it, and is
 * dropped by uWebSockets.js where more waits than `maxBackpressure`. Who takes all of it in time gets the frame; who
 * does not is cut off, so that what waits does not stay in memory.
 */
export class Closing {
  private readonly channels = new Map<Channel, ClosingChannel>();
  private readonly queue: DeadlineQueue<ClosingChannel>;

  constructor(clock: Clock = systemClock) {
    this.queue = new DeadlineQueue(GRACE, ({ channel }) => channel.close(), clock);
  }

  /** Ends a WebSocket in order. Nothing may be sent over it any more. */
  end(channel: Channel, code?: number, reason?: string): void {
    // One that another worker holds ends there.
    if (!isNative(channel) || channel.getBufferedAmount() === 0) return channel.end(code, reason);
    if (this.channels.has(channel)) return;
    for (const topic of channel.getTopics()) channel.unsubscribe(topic);
    const closing = new ClosingChannel(channel, code, reason);
    this.channels.set(channel, closing);
    this.queue.add(closing);
  }

  /** The client has taken some of what waited. */
  drained(channel: Channel): void {
    if (this.channels.size === 0 || channel.getBufferedAmount() > 0) return;
    const closing = this.channels.get(channel);
    if (!closing) return;
    this.closed(channel);
    channel.end(closing.code, closing.reason);
  }

  /** The WebSocket is closed. */
  closed(channel: Channel): void {
    const closing = this.channels.get(channel);
    if (!closing) return;
    this.channels.delete(channel);
    this.queue.remove(closing);
  }

  /** Cuts off those that are left. */
  close(): void {
    for (const channel of [...this.channels.keys()]) channel.close();
    this.queue.close();
  }
}

class ClosingChannel implements Waiting<ClosingChannel> {
  queue: DeadlineQueue<ClosingChannel> | undefined = undefined;
  due = 0;
  previous: ClosingChannel | undefined = undefined;
  next: ClosingChannel | undefined = undefined;

  constructor(
    readonly channel: Channel,
    readonly code: number | undefined,
    readonly reason: string | undefined,
  ) {}
}
