import type { Cluster, Redis } from 'ioredis';

/** How long Redis keeps a canary whose process is gone, in ms. */
const KEPT_MS = 24 * 3_600_000;

/** Renews the epochs of what the store has, because some of it may be lost. */
export interface EpochRenewal {
  /** Learns what the store is like while nothing is lost. */
  look(): Promise<void>;
  /** Renews the epochs. Several processes that notice the same loss renew them once. */
  renew(): Promise<void>;
}

/**
 * A number in Redis that this process counts up. If Redis has a smaller one than it has confirmed, or none, it has lost
 * what it had confirmed: it came back empty or with an older state, or another Redis is in its place. That shows although no
 * client asks for anything.
 */
export class Canary {
  private count = 0;
  private confirmed: { count: number; at: number } | undefined;
  private isRenewalDue = false;

  /** @param key a key that no other process has */
  constructor(
    private readonly redis: Redis | Cluster,
    private readonly key: string,
    private readonly renewal: EpochRenewal,
  ) {}

  /**
   * Counts up. Resolves with whether Redis has lost the last count that it confirmed.
   * @throws Error if Redis does not confirm the new count
   */
  async hasLost(now = Date.now()): Promise<boolean> {
    const count = ++this.count;
    const found = await this.redis.set(this.key, count, 'PX', KEPT_MS, 'GET');
    const { confirmed } = this;
    this.confirmed = { count, at: now };
    // An old one may have expired.
    const isKept = confirmed === undefined || now - confirmed.at >= KEPT_MS / 2;
    const hasLost = !isKept && Number(found ?? 0) < confirmed.count;
    this.isRenewalDue ||= hasLost;
    // If it fails, the next call repeats it. The loss is reported anyway.
    await this.renewIfDue().catch(() => {});
    return hasLost;
  }

  private async renewIfDue(): Promise<void> {
    if (!this.isRenewalDue) return this.renewal.look();
    await this.renewal.renew();
    this.isRenewalDue = false;
  }
}
