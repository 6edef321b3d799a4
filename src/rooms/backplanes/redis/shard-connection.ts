import type { Redis } from 'ioredis';

/** A connection to one master of a cluster, and the channels that this master serves to the worker. */
export class ShardConnection {
  private wanted = new Set<string>();
  private confirmed = new Set<string>();
  private readonly pending = new Set<Promise<unknown>>();
  /** The first attempt to connect, whose outcome is not known yet. */
  private starting: Promise<void> | undefined;

  /**
   * @param onChange called when {@link isComplete} may have changed
   * @param onMoved called when the master reports that it does not have a channel's slot
   */
  constructor(
    readonly redis: Redis,
    private readonly onChange: () => void,
    private readonly onMoved: () => void,
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
      this.starting = undefined;
      started();
      onChange();
    });
    redis.on('moved', onMoved);
  }

  /** Whether every channel is confirmed, apart from requests that Redis has just received. */
  get isComplete(): boolean {
    if (this.isPending) return true;
    return this.redis.status === 'ready' && this.confirmed.size >= this.wanted.size;
  }

  /** Whether a request waits for its confirmation. */
  get isPending(): boolean {
    return this.starting !== undefined || this.pending.size > 0;
  }

  want(channel: string): void {
    this.wanted.add(channel);
    this.send([channel]);
  }

  forget(channel: string): void {
    if (!this.wanted.delete(channel)) return;
    this.confirmed.delete(channel);
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
    for (const channel of channels) void this.confirm(channel, this.redis.ssubscribe(channel));
  }

  private async confirm(channel: string, subscribed: Promise<unknown>): Promise<void> {
    this.pending.add(subscribed);
    try {
      await subscribed;
      if (this.wanted.has(channel)) this.confirmed.add(channel);
    } catch {
      this.onMoved();
    }
    this.pending.delete(subscribed);
    this.onChange();
  }
}
