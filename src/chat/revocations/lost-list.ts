import type { Reports } from '../../operations/reports.js';

/** Where the loss of the list is reported. */
export type LostListReports = { log: Pick<Reports['log'], 'error' | 'info'>; problems: Reports['problems'] };

/** Its words in the log, in /readyz and in the metrics. */
const problem =
  'the list of revoked tokens was lost: workers write it back, and revocations of the last 15 s may be missing';

/** How long a loss stays among the problems, in ms: the store works, but the operator must look. */
const SHOWN_MS = 3_600_000;

/** Reports that the store of the revoked tokens has lost them. */
export class LostList {
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly reports: LostListReports) {}

  /** @param records how many of those that this worker knows are missing */
  found(records: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.close();
      this.reports.log.info({}, `over: ${problem}`);
    }, SHOWN_MS).unref();
    this.reports.problems.add(problem);
    this.reports.log.error({ missing: records }, problem);
  }

  restored(): void {
    this.reports.log.info({}, 'the list of revoked tokens is complete again');
  }

  close(): void {
    clearTimeout(this.timer);
    this.reports.problems.delete(problem);
  }
}
