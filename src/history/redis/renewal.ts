import type { Cluster, Redis } from 'ioredis';
import type { EpochRenewal } from '../loss/canary.js';
import { BUCKETS, Keys } from './keys.js';
import { type Scripts, withScripts } from './scripts.js';

/**
 * Gives all conversations new epochs, on all machines, once a loss is noticed that Redis itself does not show: the same
 * process with the same replication id has less than before. It begins a new generation in each bucket, and the scripts
 * compare it with the one of a conversation's epoch; see `scripts.ts`.
 */
export class RedisEpochRenewal implements EpochRenewal {
  private readonly client: (Redis | Cluster) & Scripts;
  private readonly keys: Keys;
  /** The line when nothing was lost. A loss may take the generation back to an earlier one. */
  private known = { id: '', generation: 0 };

  /** @param bucket where the line is looked at: the bucket of the canary, because a cluster's nodes fail one by one */
  constructor(
    client: Redis | Cluster,
    keyPrefix: string,
    private readonly bucket: number,
  ) {
    this.client = withScripts(client);
    this.keys = new Keys(keyPrefix);
  }

  async look(): Promise<void> {
    const [id, generation] = await this.client.gjallarLine(1, this.keys.generation(this.bucket));
    this.learn(id, [generation]);
  }

  async renew(): Promise<void> {
    const { id, generation } = this.known;
    const renewals = Array.from({ length: BUCKETS }, (_, bucket) =>
      this.client.gjallarRenew(1, this.keys.generation(bucket), generation, id),
    );
    this.learn(id, await Promise.all(renewals));
    await this.look();
  }

  private learn(id: string, generations: number[]): void {
    this.known = { id, generation: Math.max(this.known.generation, ...generations) };
  }
}
