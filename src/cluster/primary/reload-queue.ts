import type { Logger } from 'pino';
import { own } from '../../base/owner.js';
import type { FromPrimary } from '../protocol.js';
import { movesConnections } from './ports.js';
import { type Fleet, Reload, type ReloadOptions } from './reload.js';

/** What the queue needs of a primary beyond what one reload needs. */
export interface ReloadingFleet extends Fleet {
  /** Whether all clients are being moved to other machines. A reload ends that. */
  isLeaving: boolean;
  /** Sends a message to every worker. */
  tell(message: FromPrimary): void;
}

const STAYING = 'The old workers stay. Correct the new release, and reload again.';

/** Runs one reload at a time. However often a reload is requested during another one, exactly one more follows. */
export class ReloadQueue {
  private readonly counts = { finished: 0, aborted: 0, isLastAborted: false };
  private isRunning = false;
  private isRequested = false;

  constructor(
    private readonly fleet: ReloadingFleet,
    private readonly options: ReloadOptions,
    private readonly log: Logger,
  ) {}

  /** What workers report of the reloads. */
  get report(): FromPrimary {
    return { type: 'reloads', ...this.counts };
  }

  request(): void {
    const { fleet, log } = this;
    if (fleet.isStopping) return log.warn('reload ignored: a shutdown is already in progress');
    if (this.isRunning && !this.isRequested) log.info('a reload is already in progress: one more follows it');
    this.isRequested = true;
    if (!this.isRunning) own('reloading', this.runAll());
  }

  private async runAll(): Promise<void> {
    this.isRunning = true;
    try {
      while (this.isRequested && !this.fleet.isStopping) {
        this.isRequested = false;
        await this.run();
      }
    } finally {
      this.isRunning = false;
    }
  }

  private async run(): Promise<void> {
    const { fleet, log, counts } = this;
    const wasLeaving = fleet.isLeaving;
    fleet.isLeaving = false;
    log.info({ movesConnections: movesConnections() }, 'reload started');
    const reload = new Reload(fleet, this.options, (reason) => {
      fleet.isLeaving ||= wasLeaving;
      log.error({ reason }, `reload aborted: ${reason}. ${STAYING}`);
      counts.aborted++;
      this.ended(true);
    });
    const outcome = await reload.run();
    if (!outcome) return;
    log.info(outcome, 'reload finished');
    counts.finished++;
    this.ended(false);
  }

  private ended(isAborted: boolean): void {
    this.counts.isLastAborted = isAborted;
    this.fleet.tell(this.report);
  }
}
