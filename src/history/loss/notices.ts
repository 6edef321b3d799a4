import { readFile, rename, writeFile } from 'node:fs/promises';
import type { Cluster, Redis } from 'ioredis';

/** That the store has lost messages. All workers that share the store read it. */
export interface LossNotice {
  /** When the loss was noticed, in ms since 1970. */
  at: number;
  /** Whether the operator has acknowledged it. */
  isAcknowledged: boolean;
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
    const { at, isAcknowledged } = JSON.parse(text ?? '') as Partial<LossNotice>;
    return typeof at === 'number' ? { at, isAcknowledged: isAcknowledged === true } : undefined;
  } catch {
    return undefined;
  }
}
