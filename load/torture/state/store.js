import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis as Client } from 'ioredis';
import { DURABLE, RedisProcess } from '../../../test/support/redis.js';

const KEY = 'gjallar:{state:%2F:quotes}';
/** How long it hangs at most, in ms: longer than the workers wait for an answer. */
const MAX_HANG_MS = 4000;

/** The Redis that the room is stored in, and what can happen to it. */
export class Store {
  faults = 0;
  #redis;
  #client;
  #random;

  static async start(random) {
    return new Store(await RedisProcess.start(...DURABLE), random);
  }

  constructor(redis, random) {
    this.#redis = redis;
    this.#random = random;
    this.#client = new Client(redis.url);
    this.#client.on('error', () => {});
  }

  get url() {
    return this.#redis.url;
  }

  /** It hangs, is emptied, or restarts with what it had or with nothing. */
  async fail() {
    this.faults++;
    const kind = Math.floor(this.#random() * 4);
    if (kind === 0) {
      this.#redis.signal('SIGSTOP');
      await sleep(this.#random() * MAX_HANG_MS);
      this.#redis.signal('SIGCONT');
    } else if (kind === 1) await this.#client.flushall();
    else if (kind === 2) await this.#redis.restart();
    else {
      await this.#redis.stop();
      rmSync(join(this.#redis.directory, 'appendonlydir'), { recursive: true, force: true });
      rmSync(join(this.#redis.directory, 'appendonly.aof'), { force: true });
      await sleep(this.#random() * MAX_HANG_MS);
      await this.#redis.start();
    }
  }

  /** The state that it has. */
  async state() {
    const fields = await this.#client.hgetall(KEY);
    const values = Object.entries(fields).filter(([name]) => name.startsWith('v'));
    return new Map(values.map(([name, value]) => [name.slice(1), JSON.parse(value)]));
  }

  async stop() {
    this.#client.disconnect();
    await this.#redis.remove();
  }
}
