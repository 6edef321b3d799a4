import { test } from '@jest/globals';
import { loadClient } from '../../../../src/features/state/sequencer/store/connection.js';
import { RedisProcess } from '../../../support/redis.js';
import { StoredWorkers } from './stored.js';

// Concurrent tests must not import anything.
await loadClient();

export interface Store {
  readonly redis: RedisProcess;
  readonly workers: StoredWorkers;
}

/**
 * A test with a Redis of its own, which runs beside the others of its block: a worker that is alone waits for a second
 * before it opens a room.
 * @param settings of Redis
 */
export function onRedis(name: string, run: (store: Store) => Promise<void>, settings: readonly string[] = []): void {
  test.concurrent(name, async () => {
    const redis = await RedisProcess.start(...settings);
    const workers = new StoredWorkers({ redis: redis.url });
    try {
      await run({ redis, workers });
    } finally {
      await workers.stopAll();
      await redis.remove();
    }
  });
}
