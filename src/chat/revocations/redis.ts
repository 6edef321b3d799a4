import type { Cluster, Redis } from 'ioredis';
import type { Revocation, RevocationStore } from '../../accounts/revocations.js';

/** Revocations in one hash of Redis, which all machines share. */
export class RedisRevocations implements RevocationStore {
  /** @param key the name of the hash */
  constructor(
    private readonly redis: Redis | Cluster,
    private readonly key: string,
  ) {}

  async all(): Promise<Revocation[]> {
    return Object.values(await this.redis.hgetall(this.key)).map((value) => JSON.parse(value) as Revocation);
  }

  async put(revocation: Revocation): Promise<void> {
    await this.redis.hset(this.key, revocation.id, JSON.stringify(revocation));
  }

  async remove(ids: readonly string[]): Promise<void> {
    await this.redis.hdel(this.key, ...ids);
  }

  /** The connection is the history's. */
  async close(): Promise<void> {}
}
