import { readFile } from 'node:fs/promises';
import type { Cluster, Redis } from 'ioredis';
import { featureFigures } from '../../../base/figures.js';
import { Outage, type OutageOptions } from '../../../base/outage.js';
import { owned } from '../../../base/owner.js';
import type { Reason } from '../../../base/problems.js';
import { replaceFile } from '../files.js';

/**
 * The latest loss of messages, in ms since 1970; 0 is never. All workers that share the store read it. Each time only grows, so
 * that it does not matter in which order a worker learns of losses and acknowledgements.
 */
interface LossNotice {
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

/** A small file in `DATA_DIR`. */
export class FileLossNotices implements LossNotices {
  constructor(private readonly path: string) {}

  async read(): Promise<LossNotice | undefined> {
    return parse(await readFile(this.path, 'utf8').catch(() => null));
  }

  async write(notice: LossNotice): Promise<void> {
    replaceFile(this.path, JSON.stringify(notice));
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

/** How often the store is looked at, in ms. */
const INTERVAL_MS = 1000;
/** Reports within this time are one loss, in ms: each worker finds it, in each conversation. */
const SAME_MS = 10_000;

interface LossWatchOptions {
  /** What the operator knows the store by: `Redis` or `DATA_DIR`. */
  name: string;
  /** Without it, this process alone knows. */
  notices?: LossNotices | undefined;
  /** @default those of the process */
  reports?: OutageOptions['reports'];
}

/**
 * Tells the operator that the store has lost messages. The notice is kept in the store, so that every worker of every machine
 * names the problem until the operator acknowledges it or an hour has passed. What a worker knows, it keeps if the store
 * loses the notice too.
 */
export class LossWatch {
  private readonly reason: Reason;
  private readonly outage: Outage;
  private readonly timer: NodeJS.Timeout;
  private known: LossNotice = { lostAt: 0, acknowledgedAt: 0 };
  private isLooking = false;
  /** How often a conversation was found to lack messages. */
  private found = 0;
  private readonly uncount = featureFigures.add(() => ({ gjallar_history_losses_total: this.found }));

  constructor(private readonly options: LossWatchOptions) {
    this.reason = { code: 'HISTORY_LOST', text: `${options.name} has lost messages that it had confirmed` };
    this.outage = new Outage({ reports: options.reports });
    const onTurn = owned('looking for lost messages', () => this.look());
    this.timer = setInterval(onTurn, INTERVAL_MS).unref();
    onTurn();
  }

  /** A loss was found. */
  report(now = Date.now()): void {
    // Another machine's clock may be ahead.
    this.take({ ...this.known, lostAt: Math.max(now, this.known.acknowledgedAt + 1) }, now);
    // Without it, this worker alone names the problem.
    this.options.notices?.write(this.known).catch(() => {});
  }

  /**
   * A conversation lacks messages that were delivered. The latest loss explains it, acknowledged or not, unless the conversation
   * had messages since that loss: a quiet one shows the loss late.
   *
   * @param lastUsed when its last message was delivered
   */
  find(lastUsed: number, now = Date.now()): void {
    this.found++;
    if (lastUsed > this.known.lostAt) this.report(now);
  }

  /** Ends the problem on all workers, within a second. @throws Error if the store cannot be written to */
  async acknowledge(now = Date.now()): Promise<void> {
    const notice = { ...this.known, acknowledgedAt: Math.max(now, this.known.lostAt) };
    await this.options.notices?.write(notice);
    this.take(notice, now);
  }

  /** Looks for what other workers have found. */
  async look(now = Date.now()): Promise<void> {
    if (!this.isLooking) {
      this.isLooking = true;
      // The store may be unreachable, which others report.
      await this.ask(now).catch(() => {});
      this.isLooking = false;
    }
    if (!this.isOpen(now)) this.end();
  }

  private async ask(now: number): Promise<void> {
    const notice = await this.options.notices?.read();
    if (notice) this.take(notice, now);
  }

  close(): void {
    clearInterval(this.timer);
    this.uncount();
    this.outage.close();
  }

  private isOpen(now: number): boolean {
    const { lostAt, acknowledgedAt } = this.known;
    return lostAt > acknowledgedAt && now - lostAt < NOTICE_MS;
  }

  private take({ lostAt, acknowledgedAt }: LossNotice, now: number): void {
    // Another loss has a line of its own.
    if (this.isOpen(now) && lostAt - this.known.lostAt >= SAME_MS) this.outage.close();
    this.known = {
      lostAt: Math.max(lostAt, this.known.lostAt),
      acknowledgedAt: Math.max(acknowledgedAt, this.known.acknowledgedAt),
    };
    if (!this.isOpen(now)) return this.end();
    this.outage.begin(this.reason, { noticed: new Date(this.known.lostAt).toISOString() });
  }

  private end(): void {
    const { lostAt, acknowledgedAt } = this.known;
    this.outage.end({ acknowledged: acknowledgedAt >= lostAt });
  }
}
