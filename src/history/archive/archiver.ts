import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HistoryStore } from '../store.js';
import { type Archive, ArchiveConflict } from './archive.js';

export interface ArchiverOptions {
  /** Messages in one transaction. Default 500. */
  batch?: number;
  /** How long to wait once everything is archived, in milliseconds. Default 1000. */
  idleMs?: number;
  /** How long after an archiver has died another takes over, in milliseconds. Default 15,000. */
  leaseMs?: number;
  /** Told how many messages each batch had, 0 when everything is archived. */
  onBatch?: (count: number) => void;
  /** Told of what went wrong; it is tried again after a second. */
  onError?: (error: unknown) => void;
}

const RETRY_MS = 1000;

/**
 * Copies what is appended to the fast store into the archive. Every process may run one: they agree through a lease in
 * the archive on who does the work, and whoever comes next goes on at the cursor that the archive has.
 */
export class Archiver {
  private readonly store: HistoryStore;
  private readonly archive: Archive;
  private readonly options: Required<ArchiverOptions>;
  private readonly owner = randomUUID();
  private readonly stopping = new AbortController();
  /** Up to where it is archived, as far as this one knows; null before it has asked. */
  private cursor: string | undefined | null = null;
  private running: Promise<void> | undefined;
  /** Since when something waits to be archived, in ms since 1970; null where somebody else archives. */
  private behindSince: number | undefined | null = null;
  /** Messages that this one has written, since its start. */
  archived = 0;
  /** How often something went wrong. */
  failures = 0;

  constructor(store: HistoryStore, archive: Archive, options: ArchiverOptions = {}) {
    this.store = store;
    this.archive = archive;
    this.options = { batch: 500, idleMs: 1000, leaseMs: 15_000, onBatch: () => {}, onError: () => {}, ...options };
  }

  /** How old the oldest is of what waits to be archived, in ms; undefined where somebody else archives. */
  get lagMs(): number | undefined {
    if (this.behindSince === null) return undefined;
    return this.behindSince === undefined ? 0 : Date.now() - this.behindSince;
  }

  start(): void {
    this.running ??= this.run();
  }

  /** Finishes the batch under way and lets another archiver take over at once. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { idleMs, leaseMs, batch, onBatch, onError } = this.options;
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
        if (count === 0) await this.wait(Math.min(idleMs, leaseMs / 3));
      } catch (error) {
        this.cursor = null;
        if (error instanceof ArchiveConflict) continue;
        this.failures++;
        this.behindSince ??= Date.now();
        onError(error);
        await this.wait(RETRY_MS);
      }
    }
    await this.archive.lease(this.owner, 0).catch(onError);
  }

  private async copy(batch: number): Promise<number> {
    if (this.cursor === null) this.cursor = await this.archive.cursor();
    const { changes, cursor } = await this.store.changes(this.cursor, batch);
    if (cursor !== this.cursor) await this.archive.write(changes, this.cursor, cursor);
    this.cursor = cursor;
    this.archived += changes.length;
    this.behindSince = changes.at(-1)?.at;
    return changes.length;
  }

  private async wait(ms: number): Promise<void> {
    // A stop wakes it up.
    await sleep(ms, undefined, { signal: this.stopping.signal }).catch(() => {});
  }
}
