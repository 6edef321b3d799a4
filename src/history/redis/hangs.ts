import { Cluster, type Redis } from 'ioredis';
import { HistoryError } from '../errors.js';
import { bucketOf, type Keys } from './keys.js';

/** How long a call waits for a Redis that has not answered lately, in ms. One that answers again does so at once. */
const GRACE_MS = 100;

/**
 * Redis, or nodes of a cluster, that are connected and do not answer. Once one command has got no answer in time, no
 * further one is sent until a probe is answered: its caller would not know whether it was done.
 */
export class Hangs {
  /** By node; on a cluster by bucket, because a node has whole buckets. */
  private readonly probes = new Map<number, Promise<void>>();
  private isClosed = false;

  constructor(
    private readonly client: Redis | Cluster,
    private readonly keys: Keys,
  ) {}

  get isAny(): boolean {
    return this.probes.size > 0;
  }

  /** Takes an error of a command. */
  note(conversation: string, error: unknown): void {
    const place = this.placeOf(conversation);
    if (!isTimeout(error) || this.isClosed || this.probes.has(place)) return;
    this.probes.set(place, this.probe(place, this.keys.of(conversation).check));
  }

  /** @throws HistoryError `HISTORY_UNAVAILABLE` while there is no answer */
  async pass(conversation: string): Promise<void> {
    const probe = this.probes.get(this.placeOf(conversation));
    if (!probe) return;
    let timer: NodeJS.Timeout | undefined;
    const tooLong = new Promise<never>((_, reject) => {
      const error = new HistoryError('HISTORY_UNAVAILABLE', new Error('Redis does not answer'));
      timer = setTimeout(() => reject(error), GRACE_MS);
    });
    await Promise.race([probe, tooLong]).finally(() => clearTimeout(timer));
  }

  close(): void {
    this.isClosed = true;
  }

  private placeOf(conversation: string): number {
    return this.client instanceof Cluster ? bucketOf(conversation) : 0;
  }

  /** Asks until there is an answer, or no connection. Any answer will do. */
  private async probe(place: number, key: string): Promise<void> {
    let isHanging = true;
    while (isHanging && !this.isClosed) {
      isHanging = await this.client.exists(key).then(() => false, isTimeout);
    }
    this.probes.delete(place);
  }
}

/** Whether a command got no answer within `commandTimeout`. ioredis has no code for it. */
const isTimeout = (error: unknown): boolean => error instanceof Error && error.message === 'Command timed out';
