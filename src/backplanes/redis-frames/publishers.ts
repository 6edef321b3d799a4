import type { Redis } from 'ioredis';
import type { ConnectionHealth } from '../connection-health.js';
import { observe } from '../redis/classic.js';

interface Publisher {
  readonly redis: Redis;
  /** Whether the master answers. */
  answers(redis: Redis): boolean;
}

/**
 * The connections that a worker publishes on, one to each master of a cluster. ioredis's client of a cluster would send a
 * message again after a redirection or a lost connection, so that it could arrive twice or after later ones.
 */
export class Publishers {
  private readonly publishers = new Map<string, Publisher>();

  constructor(
    private readonly connect: (master: string) => Redis,
    private readonly health: ConnectionHealth,
    private readonly onChange: () => void,
  ) {}

  /** The connection to a master, if there is one. */
  to(master: string): Redis | undefined {
    return this.publishers.get(master)?.redis;
  }

  /**
   * Connects with exactly these masters.
   * @returns whether all of them answer
   */
  follow(masters: ReadonlySet<string>): boolean {
    for (const [master, { redis }] of this.publishers) {
      if (masters.has(master)) continue;
      this.publishers.delete(master);
      redis.disconnect();
    }
    for (const master of masters) {
      if (this.publishers.has(master)) continue;
      const redis = this.connect(master);
      this.publishers.set(master, { redis, answers: observe([redis], this.health, this.onChange) });
    }
    return [...this.publishers.values()].every(({ redis, answers }) => answers(redis));
  }

  close(): void {
    for (const { redis } of this.publishers.values()) {
      // What was published before must leave first.
      if (redis.status === 'ready') redis.quit().catch(() => {});
      else redis.disconnect();
    }
  }
}
