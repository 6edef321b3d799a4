import { readFile, rename, writeFile } from 'node:fs/promises';
import type { Cluster, Redis } from 'ioredis';

/**
 * The latest loss of messages, in ms since 1970; 0 is never. All workers that share the store read it. Each time only grows, so
 * that it does not matter in which order a worker learns of losses and acknowledgements.
 */
export interface LossNotice {
  /** When it was noticed. */
  lostAt: number;
  /** When the operator has acknowledged losses. */
  acknowledgedAt: number;
}

/** How long a loss is a problem if it is not acknowledged, in ms. */
export const NOTICE_MS = 3_600_000;

/** Where the latest notice is kept, next to the messages. */
export interface LossNotices {
  read(): Promise<LossNotice | undefined>;
  write(notice: LossNotice): Promise<void>;
}

export class RedisLossNotices implements LossNotices {
  constructor(
    private readonly redis: Redis | Cluster,
    private readonly key: string,
  ) {}

  async read(): Promise<LossNotice | undefined> {
    return parse(await this.redis.get(this.key));
  }

  async write(notice: LossNotice): Promise<void> {
    await this.redis.set(this.key, JSON.stringify(notice), 'PX', NOTICE_MS);
  }
}

/** Known to this process alone. */
export class MemoryLossNotices implements LossNotices {
  private notice: LossNotice | undefined;

  async read(): Promise<LossNotice | undefined> {
    return this.notice;
  }

  async write(notice: LossNotice): Promise<void> {
    this.notice = notice;
  }
}

/** A small file in `DATA_DIR`. */
export class FileLossNotices implements LossNotices {
  constructor(private readonly path: string) {}

  async read(): Promise<LossNotice | undefined> {
    return parse(await readFile(this.path, 'utf8').catch(() => null));
  }

  async write(notice: LossNotice): Promise<void> {
    const draft = `${this.path}.${process.pid}`;
    await writeFile(draft, JSON.stringify(notice), { mode: 0o600 });
    await rename(draft, this.path);
  }
}

function parse(text: string | null): LossNotice | undefined {
  try {
    const { lostAt, acknowledgedAt } = JSON.parse(text ?? '') as Partial<LossNotice>;
    return typeof lostAt === 'number' && typeof acknowledgedAt === 'number' ? { lostAt, acknowledgedAt } : undefined;
  } catch {
    return undefined;
  }
}
