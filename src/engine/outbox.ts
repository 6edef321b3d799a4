import { type Clock, systemClock } from './deadlines.js';
import type { Channel, NativeChannel } from './exchange.js';

/** A uWebSockets.js app, as far as broadcasting needs it. */
export interface Publisher {
  publish(topic: string, message: string | Uint8Array, isBinary: boolean, compress: boolean): boolean;
  numSubscribers(topic: string): number;
}

/** All apps that one engine is attached to. Topics are an app's own. */
export class Apps implements Publisher {
  constructor(private readonly apps: readonly Publisher[]) {}

  publish(topic: string, message: string | Uint8Array, isBinary: boolean, compress: boolean): boolean {
    let reached = false;
    for (const app of this.apps) reached = app.publish(topic, message, isBinary, compress) || reached;
    return reached;
  }

  numSubscribers(topic: string): number {
    return this.apps.reduce((sum, app) => sum + app.numSubscribers(topic), 0);
  }
}

/** One thing to send: to a topic without some of its subscribers, or to one channel. */
interface Entry {
  topic: string | undefined;
  except: readonly NativeChannel[];
  channel: Channel | undefined;
  message: string | Uint8Array;
  isBinary: boolean;
  compress: boolean;
}

/** Of the time that passes, this share at most is spent on sending, as long as the longest window allows it. */
const SHARE_OF_TIME = 1 / 6;
/** What writing to one subscriber costs, in ms, about. */
const COST_OF_WRITE = 0.002;

/**
 * Group commit for sockets. A worker that was idle sends at once. While what it has just sent still weighs, everything
 * it wants to send is held for a short window and then goes out in one go: uWebSockets.js then writes once to each
 * subscriber, however many messages there are for it.
 *
 * What one socket is sent arrives in the order in which it was handed in here, broadcasts and single messages alike.
 */
export class Outbox {
  private entries: Entry[] = [];
  private timer: unknown;
  private heldUntil = 0;
  private readonly held = new Set<string>();

  /**
   * @param longest the longest time that anything is held, in ms; 0 sends everything at once
   */
  constructor(
    private readonly publisher: Publisher,
    private readonly longest: number,
    private readonly clock: Clock = systemClock,
  ) {}

  /** Whether something is held: then single messages have to wait behind it. */
  get isHolding(): boolean {
    return this.entries.length > 0;
  }

  /** Sends to all subscribers of a topic, without those in `except`. */
  publish(
    topic: string,
    message: string | Uint8Array,
    isBinary: boolean,
    compress: boolean,
    except: readonly NativeChannel[] = [],
  ): void {
    if (this.longest === 0) return this.publishNow(topic, message, isBinary, compress, except);
    if (!this.isHolding && this.clock.now() >= this.heldUntil) {
      this.publishNow(topic, message, isBinary, compress, except);
      this.heldUntil = this.clock.now() + this.windowFor(this.publisher.numSubscribers(topic));
      return;
    }
    this.hold({ topic, except, channel: undefined, message, isBinary, compress });
    this.held.add(topic);
  }

  /** Sends to one channel behind what is held. */
  send(channel: Channel, message: string | Uint8Array, isBinary: boolean, compress: boolean): void {
    if (this.isHolding) this.hold({ topic: undefined, except: [], channel, message, isBinary, compress });
    else channel.send(message, isBinary, compress);
  }

  /** To be called before a topic's subscribers change: who was one when a message was sent gets it, and nobody else. */
  settle(topic: string): void {
    if (this.held.has(topic)) this.flush();
  }

  /** Lets everything go. */
  flush(): void {
    if (this.timer !== undefined) this.clock.clearTimeout(this.timer);
    this.timer = undefined;
    const { entries } = this;
    if (entries.length === 0) return;
    this.entries = [];
    let writes = 0;
    for (const topic of this.held) writes += this.publisher.numSubscribers(topic);
    this.held.clear();
    for (const entry of entries) {
      if (entry.topic !== undefined) {
        this.publishNow(entry.topic, entry.message, entry.isBinary, entry.compress, entry.except);
      } else {
        writes++;
        entry.channel!.send(entry.message, entry.isBinary, entry.compress);
      }
    }
    this.heldUntil = this.clock.now() + this.windowFor(writes);
  }

  private hold(entry: Entry): void {
    this.entries.push(entry);
    this.timer ??= this.clock.setTimeout(() => this.flush(), Math.max(0, this.heldUntil - this.clock.now()));
  }

  private windowFor(writes: number): number {
    return Math.min(this.longest, (writes * COST_OF_WRITE) / SHARE_OF_TIME);
  }

  private publishNow(
    topic: string,
    message: string | Uint8Array,
    isBinary: boolean,
    compress: boolean,
    except: readonly NativeChannel[],
  ): void {
    // Taking a few out for the moment is cheaper than sending to all the others one by one.
    const left = except.filter((channel) => channel.unsubscribe(topic));
    this.publisher.publish(topic, message, isBinary, compress);
    for (const channel of left) channel.subscribe(topic);
  }
}
