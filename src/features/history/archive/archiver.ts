import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HistoryStore } from '../store.js';
import { type Archive, ArchiveConflict } from './archive.js';

export interface ArchiverOptions {
  /** Messages in one transaction. Default 500. */
  batch?: number;
  /** How long after the death of an archiver another one takes over, in milliseconds. Default 15,000. */
  leaseMs?: number;
  /** Called with the number of messages in each batch, 0 when everything is archived. */
  onBatch?: (count: number) => void;
  /** Called with each failure. The archiver tries again after a second. */
  onError: (error: unknown) => void;
}

/** How long it waits once everything is archived, and after a failure, in ms. */
const WAIT_MS = 1000;

/**
 * Copies what is appended to the history into the archive. Every process may run one: a lease in the
 * archive decides which of them works, and the next one continues at the archive's cursor.
 */
export class Archiver {
  private readonly options: Required<ArchiverOptions>;
  private readonly owner = randomUUID();
  private readonly stopping = new AbortController();
  /** The archive's cursor, as far as this archiver knows; null before it has asked. */
  private cursor: string | undefined | null = null;
  private erasure = '';
  private running: Promise<void> | undefined;
  /** The time of the oldest message that waits to be archived; null if another process archives. */
  private behindSince: number | undefined | null = null;
  /** Messages that this archiver has written since its start. */
  archived = 0;

  constructor(
    private readonly store: HistoryStore,
    private readonly archive: Archive,
    options: ArchiverOptions,
  ) {
    this.options = { batch: 500, leaseMs: 15_000, onBatch: () => {}, ...options };
  }

  /** The age of the oldest message that waits to be archived, in ms; undefined if another process archives. */
  get lagMs(): number | undefined {
    if (this.behindSince === null) return undefined;
    return this.behindSince === undefined ? 0 : Date.now() - this.behindSince;
  }

  start(): void {
    this.running ??= this.run();
  }

  /** Finishes the batch in progress and lets another archiver take over at once. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { leaseMs, batch, onBatch, onError } = this.options;
    while (!this.stopping.signal.aborted) {
      try {
        if (!(await this.archive.lease(this.owner, leaseMs))) {
          this.cursor = null;
          this.behindSince = null;
          await this.wait(leaseMs / 3);
          continue;
        }
        const count = await this.copy(batch);
        onBatch(count);
        if (count === 0) await this.wait(Math.min(WAIT_MS, leaseMs / 3));
      } catch (error) {
        this.cursor = null;
        if (error instanceof ArchiveConflict) continue;
        this.behindSince ??= Date.now();
        onError(error);
        await this.wait(WAIT_MS);
      }
    }
    await this.archive.lease(this.owner, 0).catch(onError);
  }

  private async copy(batch: number): Promise<number> {
    if (this.cursor === null) {
      this.erasure = await this.archive.lastErasure();
      this.cursor = await this.archive.cursor();
    }
    const { changes, cursor } = await this.store.changes(this.cursor, batch);
    if (cursor !== this.cursor) await this.archive.write(changes, this.cursor, cursor, this.erasure);
    this.cursor = cursor;
    this.archived += changes.length;
    this.behindSince = changes.at(-1)?.at;
    return changes.length;
  }

  private async wait(ms: number): Promise<void> {
    // stop() ends the wait.
    await sleep(ms, undefined, { signal: this.stopping.signal }).catch(() => {});
  }
}
