import { captureRejectionSymbol, EventEmitter } from 'node:events';
import type { Redis } from 'ioredis';
import { own, owned, reportFailure } from '../../../base/owner.js';
import type { Rejections } from '../connection-health.js';

type Channels = string | readonly string[];

/** How long to wait until rejected requests are repeated, in ms. */
const RETRY_INTERVAL_MS = 1000;

/** Hands a message to the adapters: calls `emit` with what they shall get. */
export type Receiver = (channel: Buffer, bytes: Buffer, isPattern: boolean, emit: (message: unknown) => void) => void;

export type RejectionListener = (error: unknown, channel: Buffer, message: unknown) => void;

/**
 * The subscriptions of a backplane on one connection, in the form of the client that socket.io's adapters expect. While
 * Redis is unreachable they are kept here, because queued commands would pile up. Each new connection renews them.
 */
export class Subscriptions extends EventEmitter {
  private readonly channels = new Set<string>();
  private readonly patterns = new Set<string>();
  private readonly pending = new Set<Promise<unknown>>();
  private timer: NodeJS.Timeout | undefined;
  /** Whether Redis has confirmed all subscriptions since the last connect. */
  isRenewed = false;

  /**
   * @param onChange called when {@link isRenewed} has changed
   * @param receive gets each message
   * @param onRejection gets what a listener for messages rejects with
   */
  constructor(
    private readonly redis: Redis,
    private readonly onChange: () => void,
    private readonly rejections: Rejections,
    receive: Receiver,
    private readonly onRejection: RejectionListener = (error) => reportFailure('handling a message of Redis', error),
  ) {
    // The adapters answer requests in asynchronous listeners. Their rejections arrive at the method below.
    super({ captureRejections: true });
    // Each namespace listens.
    this.setMaxListeners(0);
    const onMessage = (channel: Buffer, bytes: Buffer) =>
      receive(channel, bytes, false, (message) => this.emit('messageBuffer', channel, message));
    const onPatternMessage = (pattern: Buffer, channel: Buffer, bytes: Buffer) =>
      receive(channel, bytes, true, (message) => this.emit('pmessageBuffer', pattern, channel, message));
    redis.on('messageBuffer', owned('reading a message of Redis', onMessage));
    redis.on('pmessageBuffer', owned('reading a message of Redis', onPatternMessage));
    redis.on('ready', () => this.renewNow());
    redis.on('close', () => {
      this.isRenewed = false;
      clearTimeout(this.timer);
      onChange();
    });
  }

  override [captureRejectionSymbol](error: unknown, _event: string, channel: Buffer, message: unknown): void {
    this.onRejection(error, channel, message);
  }

  /** Resolves when every request made so far is confirmed or has failed. */
  async confirmed(): Promise<void> {
    await Promise.allSettled(this.pending);
  }

  /** Resolves with whether Redis has confirmed it on this connection. */
  subscribe(channels: Channels): Promise<boolean> {
    return this.add(this.channels, channels, 'SUBSCRIBE', (all) => this.redis.subscribe(...all));
  }

  psubscribe(patterns: Channels): Promise<boolean> {
    return this.add(this.patterns, patterns, 'PSUBSCRIBE', (all) => this.redis.psubscribe(...all));
  }

  unsubscribe(channels: Channels): void {
    this.remove(this.channels, channels, (all) => this.redis.unsubscribe(...all));
  }

  punsubscribe(patterns: Channels): void {
    this.remove(this.patterns, patterns, (all) => this.redis.punsubscribe(...all));
  }

  disconnect(): void {
    this.redis.disconnect();
  }

  private async add(
    wanted: Set<string>,
    names: Channels,
    name: string,
    send: (names: string[]) => Promise<unknown>,
  ): Promise<boolean> {
    const all = [names].flat();
    for (const name of all) wanted.add(name);
    return this.redis.status === 'ready' && (await this.confirm(name, send(all)));
  }

  private remove(wanted: Set<string>, names: Channels, send: (names: string[]) => Promise<unknown>): void {
    const all = [names].flat();
    for (const name of all) wanted.delete(name);
    if (this.redis.status === 'ready') send(all).catch(() => {});
  }

  /** Redis has rejected a request, for instance because of its ACL. */
  private renewLater(name: string, error: unknown): void {
    this.isRenewed = false;
    this.rejections.note([name], error);
    this.onChange();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.renewNow(), RETRY_INTERVAL_MS).unref();
  }

  private renewNow(): void {
    own('renewing the subscriptions with Redis', this.renew());
  }

  private async renew(): Promise<void> {
    const { channels, patterns, redis } = this;
    const all: Promise<boolean>[] = [];
    if (patterns.size > 0) all.push(this.confirm('PSUBSCRIBE', redis.psubscribe(...patterns)));
    if (channels.size > 0) all.push(this.confirm('SUBSCRIBE', redis.subscribe(...channels)));
    const confirmed = await Promise.all(all);
    if (!confirmed.every(Boolean) || redis.status !== 'ready') return;
    this.isRenewed = true;
    for (const name of ['PSUBSCRIBE', 'SUBSCRIBE']) this.rejections.note([name]);
    this.onChange();
  }

  private async confirm(name: string, confirmation: Promise<unknown>): Promise<boolean> {
    this.pending.add(confirmation);
    try {
      await confirmation;
      return true;
    } catch (error) {
      // After a lost connection, the next one renews everything.
      if (this.redis.status === 'ready') this.renewLater(name, error);
      return false;
    } finally {
      this.pending.delete(confirmation);
    }
  }
}
