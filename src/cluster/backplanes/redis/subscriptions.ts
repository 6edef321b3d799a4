import type { Redis } from 'ioredis';
import { own, owned } from '../../../base/owner.js';
import type { Rejections } from '../connection-health.js';

type Channels = string | readonly string[];

/** How long to wait until rejected requests are repeated, in ms. */
const RETRY_INTERVAL_MS = 1000;

/**
 * The subscriptions of a backplane on one connection. While Redis is unreachable they are kept here, because queued commands would
 * pile up. Each new connection renews them.
 */
export class Subscriptions {
  /** How often each is wanted: a namespace may be made again while the one of before still closes. */
  private readonly channels = new Map<string, number>();
  private readonly patterns = new Map<string, number>();
  private readonly pending = new Set<Promise<unknown>>();
  private timer: NodeJS.Timeout | undefined;
  /** Whether Redis has confirmed all subscriptions since the last connect. */
  isRenewed = false;
  /** Gets each message, with the pattern if it came by one. */
  onMessage: (channel: Buffer, bytes: Buffer, pattern?: Buffer) => void = () => {};

  /** @param onChange called when {@link isRenewed} has changed */
  constructor(
    private readonly redis: Redis,
    private readonly onChange: () => void,
    private readonly rejections: Rejections,
  ) {
    const read = owned('reading a message of Redis', (...message: Parameters<Subscriptions['onMessage']>) =>
      this.onMessage(...message),
    );
    redis.on('messageBuffer', (channel: Buffer, bytes: Buffer) => read(channel, bytes));
    redis.on('pmessageBuffer', (pattern: Buffer, channel: Buffer, bytes: Buffer) => read(channel, bytes, pattern));
    redis.on('ready', () => this.renewNow());
    redis.on('close', () => {
      this.isRenewed = false;
      clearTimeout(this.timer);
      onChange();
    });
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

  private async add(
    wanted: Map<string, number>,
    names: Channels,
    name: string,
    send: (names: string[]) => Promise<unknown>,
  ): Promise<boolean> {
    const all = [names].flat();
    for (const name of all) wanted.set(name, (wanted.get(name) ?? 0) + 1);
    return this.redis.status === 'ready' && (await this.confirm(name, send(all)));
  }

  private remove(wanted: Map<string, number>, names: Channels, send: (names: string[]) => Promise<unknown>): void {
    const unwanted: string[] = [];
    for (const name of [names].flat()) {
      const left = (wanted.get(name) ?? 0) - 1;
      if (left > 0) wanted.set(name, left);
      else {
        wanted.delete(name);
        unwanted.push(name);
      }
    }
    if (unwanted.length > 0 && this.redis.status === 'ready') send(unwanted).catch(() => {});
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
    if (patterns.size > 0) all.push(this.confirm('PSUBSCRIBE', redis.psubscribe(...patterns.keys())));
    if (channels.size > 0) all.push(this.confirm('SUBSCRIBE', redis.subscribe(...channels.keys())));
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
