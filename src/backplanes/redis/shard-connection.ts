import type { Redis } from 'ioredis';
import { own } from '../../base/owner.js';
import { isRejection } from './rejections.js';

interface ShardEvents {
  /** Called when {@link ShardConnection.isComplete} may have changed. */
  onChange(): void;
  /** Called when the master reports that it does not have a channel's slot. */
  onMoved(): void;
  /** Called when the master rejects a subscription, for instance because of its ACL. */
  onRejected(error: Error): void;
}

/** A connection to one master of a cluster, and the channels that this master serves to the worker. */
export class ShardConnection {
  private readonly rejected = new Set<string>();
  private wanted = new Set<string>();
  private confirmed = new Set<string>();
  private readonly pending = new Set<Promise<unknown>>();
  /** The first attempt to connect, whose outcome is not known yet. */
  private starting: Promise<void> | undefined;

  constructor(
    readonly redis: Redis,
    private readonly events: ShardEvents,
  ) {
    let started = () => {};
    this.starting = new Promise((resolve) => {
      started = resolve;
    });
    redis.on('ready', () => {
      this.send(this.wanted);
      this.starting = undefined;
      started();
    });
    redis.on('close', () => {
      this.confirmed.clear();
      this.rejected.clear();
      this.starting = undefined;
      started();
      events.onChange();
    });
    redis.on('moved', () => {
      // The master has ended subscriptions, and ioredis does not say which.
      this.confirmed.clear();
      events.onMoved();
    });
  }

  /** Whether every channel is confirmed, apart from requests that Redis has just received. */
  get isComplete(): boolean {
    if (this.isRejected) return false;
    if (this.isPending) return true;
    return this.redis.status === 'ready' && this.confirmed.size >= this.wanted.size;
  }

  /** Whether the master has rejected a subscription. */
  get isRejected(): boolean {
    return this.rejected.size > 0;
  }

  /** Whether a request waits for its confirmation. */
  get isPending(): boolean {
    return this.starting !== undefined || this.pending.size > 0;
  }

  isConfirmed(channel: string): boolean {
    return this.confirmed.has(channel);
  }

  want(channel: string): void {
    this.wanted.add(channel);
    this.send([channel]);
  }

  forget(channel: string): void {
    if (!this.wanted.delete(channel)) return;
    this.confirmed.delete(channel);
    this.rejected.delete(channel);
    if (this.redis.status === 'ready') this.redis.sunsubscribe(channel).catch(() => {});
  }

  /** Wants exactly these channels. */
  replace(channels: Set<string>): void {
    for (const channel of this.wanted) if (!channels.has(channel)) this.forget(channel);
    this.wanted = channels;
    this.send([...channels].filter((channel) => !this.confirmed.has(channel)));
  }

  /** Resolves when every request made so far is confirmed or has failed. */
  async allConfirmed(): Promise<void> {
    await this.starting;
    await Promise.allSettled(this.pending);
  }

  close(): void {
    this.redis.disconnect();
  }

  private send(channels: Iterable<string>): void {
    if (this.redis.status !== 'ready') return;
    // One command per channel, because the channels of one command must share a slot.
    for (const channel of channels) {
      own('subscribing with Redis', this.confirm(channel, this.redis.ssubscribe(channel)));
    }
  }

  private async confirm(channel: string, subscribed: Promise<unknown>): Promise<void> {
    this.pending.add(subscribed);
    try {
      await subscribed;
      if (this.wanted.has(channel)) this.confirmed.add(channel);
      this.rejected.delete(channel);
    } catch (error) {
      this.failed(channel, error);
    }
    this.pending.delete(subscribed);
    this.events.onChange();
  }

  private failed(channel: string, error: unknown): void {
    if (!isRejection(error) || error.message.startsWith('MOVED')) return this.events.onMoved();
    if (!this.wanted.has(channel)) return;
    this.rejected.add(channel);
    this.events.onRejected(error);
  }
}
