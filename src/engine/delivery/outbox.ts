import { type Clock, systemClock } from '../clock.js';
import type { NativeWebSocket, WebSocketConnection } from '../http/exchange.js';
import type { DroppedDeliveries } from './dropped-deliveries.js';

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

/** One thing to send: to a topic without some of its subscribers, or to one webSocket. */
interface Entry {
  topic: string | undefined;
  except: readonly NativeWebSocket[];
  webSocket: WebSocketConnection | undefined;
  message: string | Uint8Array;
  isBinary: boolean;
  compress: boolean;
}

/** Of the time that passes, this share at most is spent on sending, as long as the longest window allows it. */
const SHARE_OF_TIME = 1 / 20;
/** What writing to one subscriber costs, in ms, about. */
const WRITE_COST_MS = 0.004;

/**
 * Group commit for sockets. A worker that was idle sends at once, that is as soon as the callback that it is in has
 * returned. While what it has just sent still weighs, everything it wants to send is held for a short window and then
 * goes out in one go: uWebSockets.js then writes once to each subscriber, however many messages there are for it.
 *
 * What one socket is sent arrives in the order in which it was handed in here, broadcasts and single messages alike.
 */
export class Outbox {
  /** Messages to topics, since the start. */
  published = 0;
  /** What they made: one for each subscriber, those that were skipped too. */
  deliveries = 0;
  private entries: Entry[] = [];
  /** The topics that something is held for, and how many messages. */
  private readonly held = new Map<string, number>();
  private cancelFlush: (() => void) | undefined;
  private heldUntil = 0;
  /** How many bytes are held for single channels. */
  private readonly heldBytes = new Map<WebSocketConnection, number>();

  /**
   * @param longest the longest time that anything is held, in ms; 0 sends everything at once
   * @param skipped where subscribers may be skipped
   */
  constructor(
    private readonly publisher: Publisher,
    private readonly longest: number,
    private readonly clock: Clock = systemClock,
    private readonly skipped?: DroppedDeliveries,
  ) {}

  /** How many messages are held. */
  get waiting(): number {
    return this.entries.length;
  }

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
    except: readonly NativeWebSocket[] = [],
  ): void {
    this.entries.push({ topic, except, webSocket: undefined, message, isBinary, compress });
    this.held.set(topic, (this.held.get(topic) ?? 0) + 1);
    this.published++;
    if (this.longest === 0) this.flush();
    else if (!this.cancelFlush) this.planFlush();
  }

  /** Sends to one webSocket, behind what is held. */
  send(webSocket: WebSocketConnection, message: string | Uint8Array, isBinary: boolean, compress: boolean): void {
    if (!this.isHolding) webSocket.send(message, isBinary, compress);
    else {
      this.entries.push({ topic: undefined, except: [], webSocket, message, isBinary, compress });
      this.heldBytes.set(webSocket, (this.heldBytes.get(webSocket) ?? 0) + message.length);
    }
  }

  /** Forgets what is held for a webSocket that is closed: nothing may be done with it any more. */
  forget(webSocket: WebSocketConnection): void {
    if (this.heldBytes.delete(webSocket)) this.entries = this.entries.filter((entry) => entry.webSocket !== webSocket);
  }

  /** About how many bytes are held for one webSocket alone. */
  heldFor(webSocket: WebSocketConnection): number {
    return this.heldBytes.get(webSocket) ?? 0;
  }

  /** From now on the WebSocket gets what is published to the topic, and nothing that was published before. */
  subscribe(webSocket: NativeWebSocket, topic: string): void {
    this.flushTopic(topic);
    webSocket.subscribe(topic);
  }

  /** The WebSocket still gets what was published to the topic before, and nothing from now on. */
  unsubscribe(webSocket: NativeWebSocket, topic: string): void {
    this.flushTopic(topic);
    webSocket.unsubscribe(topic);
  }

  /** Sends what is held, if any of it is for the topic: its subscribers are about to change. */
  flushTopic(topic: string): void {
    if (this.held.has(topic)) this.flush();
  }

  /** Lets everything go. */
  flush(): void {
    this.cancelFlush?.();
    this.cancelFlush = undefined;
    const { entries } = this;
    if (entries.length === 0) return;
    this.entries = [];
    let writes = 0;
    for (const [topic, messages] of this.held) {
      const subscribers = this.publisher.numSubscribers(topic);
      writes += subscribers;
      this.deliveries += subscribers * messages;
    }
    this.held.clear();
    this.heldBytes.clear();
    const singles = new Map<WebSocketConnection, Entry[]>();
    for (const entry of entries) {
      if (entry.topic !== undefined) {
        writes += sendSingles(singles);
        this.publishNow(entry.topic, entry);
      } else {
        const waiting = singles.get(entry.webSocket!);
        if (waiting) waiting.push(entry);
        else singles.set(entry.webSocket!, [entry]);
      }
    }
    writes += sendSingles(singles);
    this.heldUntil = this.clock.now() + Math.min(this.longest, (writes * WRITE_COST_MS) / SHARE_OF_TIME);
  }

  private planFlush(): void {
    const wait = this.heldUntil - this.clock.now();
    if (wait > 0) {
      const timer = this.clock.setTimeout(() => this.flush(), wait);
      this.cancelFlush = () => this.clock.clearTimeout(timer);
      return;
    }
    // Not from within a handler of uWebSockets.js: its socket has the only cork buffer there is, and what is published
    // meanwhile is written to each subscriber uncorked.
    const immediate = this.clock.setImmediate(() => this.flush());
    this.cancelFlush = () => this.clock.clearImmediate(immediate);
  }

  private publishNow(topic: string, { message, isBinary, compress, except }: Entry): void {
    // Taking a few out for the moment is cheaper than sending to all the others one by one.
    const left = except.filter((webSocket) => webSocket.unsubscribe(topic));
    this.publisher.publish(topic, message, isBinary, compress);
    for (const webSocket of left) webSocket.subscribe(topic);
    this.deliveries -= left.length;
    this.skipped?.published(topic, message, except);
  }
}

/** Sends what waits for single channels, one write for each. Returns how many writes that were. */
function sendSingles(singles: Map<WebSocketConnection, Entry[]>): number {
  for (const [webSocket, entries] of singles) {
    webSocket.cork(() => {
      for (const { message, isBinary, compress } of entries) webSocket.send(message, isBinary, compress);
    });
  }
  const writes = singles.size;
  singles.clear();
  return writes;
}
