import { attempt, reportFailure } from '../../base/owner.js';
import { type Clock, systemClock } from '../clock.js';
import type { NativeWebSocket, WebSocketConnection } from '../http/exchange.js';
import type { BufferBudget } from './buffer-budget.js';
import type { SlowClients } from './slow-clients.js';

/** The methods of a uWebSockets.js app that broadcasting needs. */
export interface Publisher {
  publish(topic: string, message: string | Uint8Array, isBinary: boolean, compress: boolean): boolean;
  numSubscribers(topic: string): number;
}

/** All apps that one engine is attached to. Each app has its own topics. */
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

/** A message to a topic without some of its subscribers, or to one WebSocket, or what waits for those before it. */
interface Entry {
  topic: string | undefined;
  except: readonly NativeWebSocket[];
  webSocket: WebSocketConnection | undefined;
  message: string | Uint8Array;
  isBinary: boolean;
  compress: boolean;
  action: (() => void) | undefined;
  /** When it was passed to the outbox. */
  at: number;
}

/** The outbox spends at most this share of the time on sending, as long as the longest window allows it. */
const SHARE_OF_TIME = 1 / 20;
/** Approximate cost of writing to one subscriber, in ms. */
const WRITE_COST_MS = 0.004;
/** About what a delivery costs a busy worker, which sends many together, in ms: whatever its length, and for each byte. */
const DELIVERY_MS = 0.0003;
const BYTE_MS = 0.0000015;
/** How long messages to rooms are sent in one turn of the event loop, in ms: meanwhile, nothing is read. */
const MAX_TURN_MS = 100;
/** From this age of the oldest message on, all are sent in one turn: what comes in waits, and does not pile up here. */
const MAX_AGE_MS = 1000;
const NO_SOCKETS: readonly NativeWebSocket[] = [];

/**
 * Group commit for sockets. An idle worker sends at once: as soon as the current callback has returned. A worker that
 * has just sent a lot holds its messages for a short window, and then sends all of them together. uWebSockets.js then
 * writes once to each subscriber, however many messages there are for it.
 *
 * A socket receives broadcasts and single messages in the order in which they were passed to the outbox. What the worker
 * was given for other workers before a message leaves before that message. A client that acts on an acknowledgement, through
 * any worker, therefore acts after the broadcast that was acknowledged.
 */
export class Outbox {
  /** Deliveries of messages to topics, since the start: one per subscriber, including dropped ones. */
  deliveries = 0;
  private entries: Entry[] = [];
  /** The first of the entries that is not sent yet. */
  private next = 0;
  /** The topics with held messages, and how many subscribers they had. */
  private readonly held = new Map<string, number>();
  /** About how long it takes to send the held messages to topics, in ms. */
  private heldMs = 0;
  private cancelFlush: (() => void) | undefined;
  private heldUntil = 0;
  /** The length of the last window, in ms. */
  private window = 0;
  /** Other senders that hold something for the same window. Each returns the approximate cost of its flush, in ms. */
  private readonly others = new Set<() => number>();
  private isFlushingOthers = false;
  /** The number of bytes held for single WebSockets. */
  private readonly heldBytes = new Map<WebSocketConnection, number>();

  /**
   * @param longest the longest time that a message is held, in ms; 0 sends each message at once
   * @param slow what it knows of clients that are too slow
   * @param budget is told how much is sent
   */
  constructor(
    private readonly publisher: Publisher,
    private readonly longest: number,
    private readonly clock: Clock = systemClock,
    private readonly slow?: Pick<SlowClients, 'muted'>,
    private readonly budget?: Pick<BufferBudget, 'sending'>,
  ) {}

  /** How long the oldest held message has waited, in ms. */
  private get ageMs(): number {
    const oldest = this.entries[this.next];
    return oldest ? this.clock.now() - oldest.at : 0;
  }

  /** How late a message to a room leaves that is passed to the outbox now, in ms, if it is late because of the others. */
  get lateMs(): number {
    return Math.max(this.heldMs, this.ageMs);
  }

  /** Whether messages are held, for sockets or by other senders. Single messages must then wait behind them. */
  get isHolding(): boolean {
    return this.entries.length > 0 || this.others.size > 0 || this.isFlushingOthers;
  }

  /**
   * Lets another sender use this window: what it sends leaves just before the messages to sockets.
   * @param flush hands what the sender holds to the operating system; returns the approximate cost, in ms
   * @returns call it when the sender holds something
   */
  share(flush: () => number): () => void {
    return () => {
      this.others.add(flush);
      if (this.longest === 0) this.flush();
      else if (!this.cancelFlush) this.planFlush();
    };
  }

  /** Sends to all subscribers of a topic except those in `except`. */
  publish(
    topic: string,
    message: string | Uint8Array,
    isBinary: boolean,
    compress: boolean,
    except: readonly NativeWebSocket[] = NO_SOCKETS,
  ): void {
    const at = this.clock.now();
    this.hold({ topic, except, webSocket: undefined, message, isBinary, compress, action: undefined, at });
    if (this.longest === 0) this.flush();
    else if (!this.cancelFlush) this.planFlush();
  }

  /** Sends to one WebSocket, after the held messages. */
  send(webSocket: WebSocketConnection, message: string | Uint8Array, isBinary: boolean, compress: boolean): void {
    if (this.isMuted(webSocket)) return;
    if (!this.isHolding) {
      this.budget?.sending(message.length);
      webSocket.send(message, isBinary, compress);
    } else {
      const at = this.clock.now();
      this.hold({
        topic: undefined,
        except: NO_SOCKETS,
        webSocket,
        message,
        isBinary,
        compress,
        action: undefined,
        at,
      });
    }
  }

  private hold(entry: Entry): void {
    this.entries.push(entry);
    this.count(entry);
  }

  private count({ topic, webSocket, message }: Entry): void {
    if (topic !== undefined) this.heldMs += this.subscribersOf(topic) * (DELIVERY_MS + message.length * BYTE_MS);
    if (webSocket) this.heldBytes.set(webSocket, this.heldFor(webSocket) + message.length);
  }

  /** Runs an action once everything that is held has been sent: at once if nothing is. */
  afterHeld(action: () => void): void {
    if (!this.isHolding) return action();
    const empty = { topic: undefined, except: NO_SOCKETS, webSocket: undefined, message: '' };
    this.hold({ ...empty, isBinary: false, compress: false, action, at: this.clock.now() });
  }

  /** Drops the messages held for a closed WebSocket, which must not be used any more. */
  forget(webSocket: WebSocketConnection): void {
    if (!this.heldBytes.delete(webSocket)) return;
    this.entries = this.entries.slice(this.next).filter((entry) => entry.webSocket !== webSocket);
    this.next = 0;
  }

  /** Approximate number of bytes held for one WebSocket alone. */
  heldFor(webSocket: WebSocketConnection): number {
    return this.heldBytes.get(webSocket) ?? 0;
  }

  /** From now on, the WebSocket receives messages to the topic. It does not receive earlier ones. */
  subscribe(webSocket: NativeWebSocket, topic: string): void {
    this.flushTopic(topic);
    webSocket.subscribe(topic);
  }

  /** From now on, the WebSocket receives no messages to the topic. It still receives earlier ones. */
  unsubscribe(webSocket: NativeWebSocket, topic: string): void {
    this.flushTopic(topic);
    webSocket.unsubscribe(topic);
  }

  /** Sends the held messages if some are for the topic, because its subscribers are about to change. */
  flushTopic(topic: string): void {
    if (this.held.has(topic)) this.flush();
  }

  /**
   * Sends all held messages.
   * @param maxMs after this time, messages to rooms stay for the next turn
   */
  flush(maxMs = Number.POSITIVE_INFINITY): void {
    this.cancelPlan();
    if (this.entries.length === 0 && this.others.size === 0) return;
    const otherCost = this.flushOthers();
    this.cancelPlan();
    const end = this.clock.now() + maxMs;
    const counted = new Set<string>();
    const singles = new Map<WebSocketConnection, Entry[]>();
    let writes = 0;
    let bytes = 0;
    // What the actions send comes behind the rest, and what they flush goes on from here.
    while (this.next < this.entries.length) {
      const entry = this.entries[this.next++]!;
      const { topic, message, webSocket, action } = entry;
      if (topic !== undefined) {
        writes += this.sendSingles(singles);
        const subscribers = this.subscribersOf(topic);
        if (!counted.has(topic)) writes += subscribers;
        counted.add(topic);
        this.deliveries += subscribers;
        bytes += message.length * subscribers;
        this.tryToPublish(topic, entry);
        if (this.clock.now() >= end) break;
      } else if (action) {
        writes += this.sendSingles(singles) + 1;
        attempt('sending what waits for the window', action);
      } else if (!this.isMuted(webSocket!)) {
        bytes += message.length;
        const waiting = singles.get(webSocket!);
        if (waiting) waiting.push(entry);
        else singles.set(webSocket!, [entry]);
      }
    }
    writes += this.sendSingles(singles);
    this.forgetSent();
    this.budget?.sending(bytes);
    this.window = Math.min(this.longest, (writes * WRITE_COST_MS + otherCost) / SHARE_OF_TIME);
    this.heldUntil = this.clock.now() + (this.entries.length > 0 ? 0 : this.window);
    if (this.entries.length > 0 && !this.cancelFlush) this.planFlush();
  }

  /** The subscribers of a topic, which do not change while messages to it are held. */
  private subscribersOf(topic: string): number {
    let subscribers = this.held.get(topic);
    if (subscribers === undefined) {
      subscribers = this.publisher.numSubscribers(topic);
      this.held.set(topic, subscribers);
    }
    return subscribers;
  }

  private forgetSent(): void {
    this.entries = this.entries.slice(this.next);
    this.next = 0;
    this.held.clear();
    this.heldMs = 0;
    this.heldBytes.clear();
    for (const entry of this.entries) this.count(entry);
  }

  /** Sends the messages to single WebSockets with one write each. Returns the number of writes. */
  private sendSingles(singles: Map<WebSocketConnection, Entry[]>): number {
    if (singles.size === 0) return 0;
    for (const [webSocket, entries] of singles) {
      const sendAll = () => {
        for (const { message, isBinary, compress } of entries) webSocket.send(message, isBinary, compress);
      };
      // Those that are still held are counted again once this flush is over.
      this.heldBytes.delete(webSocket);
      attempt('sending a message to a client', () => (entries.length === 1 ? sendAll() : webSocket.cork(sendAll)));
    }
    const writes = singles.size;
    singles.clear();
    return writes;
  }

  /** Lets other senders send. What they publish, or make others hold, leaves with the rest. Returns the cost. */
  private flushOthers(): number {
    let cost = 0;
    // The subscribers of a topic may change meanwhile, which flushes again.
    const wasFlushing = this.isFlushingOthers;
    this.isFlushingOthers = true;
    for (const flush of this.others) {
      this.others.delete(flush);
      attempt('sending what waits for the window', () => {
        cost += flush();
      });
    }
    this.isFlushingOthers = wasFlushing;
    return cost;
  }

  private cancelPlan(): void {
    this.cancelFlush?.();
    this.cancelFlush = undefined;
  }

  private planFlush(): void {
    const wait = this.heldUntil - this.clock.now();
    if (wait > 0) {
      const timer = this.clock.setTimeout(() => this.flushInTurn(), wait);
      this.cancelFlush = () => this.clock.clearTimeout(timer);
      return;
    }
    // Never publish from within a handler of uWebSockets.js. The handler's socket holds the only cork buffer, so each
    // subscriber would get uncorked writes.
    const immediate = this.clock.setImmediate(() => this.flushInTurn());
    this.cancelFlush = () => this.clock.clearImmediate(immediate);
  }

  private flushInTurn(): void {
    this.flush(this.ageMs < MAX_AGE_MS ? MAX_TURN_MS : undefined);
  }

  private isMuted(webSocket: WebSocketConnection): boolean {
    const { slow } = this;
    return slow !== undefined && slow.muted.size > 0 && slow.muted.has(webSocket as NativeWebSocket);
  }

  /** A message that the sockets do not take keeps none of the others back. */
  private tryToPublish(topic: string, entry: Entry): void {
    try {
      this.publishNow(topic, entry);
    } catch (error) {
      reportFailure('sending a message to a room', error);
    }
  }

  private publishNow(topic: string, { message, isBinary, compress, except }: Entry): void {
    const { slow } = this;
    if (slow && slow.muted.size > 0) for (const webSocket of slow.muted) ifOpen(() => webSocket.unsubscribe(topic));
    // Unsubscribing a few for a moment is cheaper than sending to all others one by one.
    const left = except.filter((webSocket) => ifOpen(() => webSocket.unsubscribe(topic)));
    this.publisher.publish(topic, message, isBinary, compress);
    for (const webSocket of left) ifOpen(() => webSocket.subscribe(topic));
    this.deliveries -= left.length;
  }
}

/** A WebSocket that has closed since the message was held throws, and is in no topic. */
function ifOpen(change: () => boolean): boolean {
  try {
    return change();
  } catch {
    return false;
  }
}
