import { own } from '../base/owner.js';
import type { Reports } from '../operations/reports.js';

/** Where outages are reported. */
export type OutageReports = { log: Pick<Reports['log'], 'error' | 'info'>; problems: Reports['problems'] };

export interface OutageOptions {
  /** What is down, in public words. The log adds the error, which may name hosts and users. */
  problemFor(error: unknown): string;
  /** Tries whether the outage is over; rejects if it is not. */
  check(): Promise<unknown>;
}

/** How often an outage logs the same words again, when its reason goes to and fro, in ms. */
const REPEAT_MS = 60_000;

/** An outage is over when no call has failed for so long; a check then confirms it. */
const QUIET_MS = 3000;

/**
 * One thing that can be down, such as storing messages. Each outage has one line in the log when it begins, with the
 * error of the database, one when its reason changes, one line when it ends, and an entry in the list of problems in between. While it lasts, the
 * thing is tried every few seconds, so the outage ends even if no client asks for it.
 */
export class Outage {
  private failures = 0;
  private problem = '';
  /** When the outage has logged which words. */
  private readonly logged = new Map<string, number>();
  private quietSince = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly reports: OutageReports,
    private readonly options: OutageOptions,
  ) {}

  get isInProgress(): boolean {
    return this.timer !== undefined;
  }

  /** A call has failed. */
  failed(error: unknown): void {
    this.failures++;
    this.note(error);
    if (this.timer) return;
    this.timer = setInterval(() => {
      if (performance.now() - this.quietSince >= QUIET_MS) own('checking whether an outage is over', this.check());
    }, QUIET_MS);
    this.timer.unref();
  }

  /** Reports the reason, if it is another one. */
  private note(error: unknown): void {
    const now = performance.now();
    this.quietSince = now;
    const problem = this.options.problemFor(error);
    if (this.timer && problem === this.problem) return;
    this.reports.problems.delete(this.problem);
    this.problem = problem;
    this.reports.problems.add(problem);
    if (now - (this.logged.get(problem) ?? Number.NEGATIVE_INFINITY) >= REPEAT_MS) {
      this.logged.set(problem, now);
      this.reports.log.error({ error }, problem);
    }
  }

  /** Ends the outage if a check succeeds and nothing fails meanwhile. Call it when there is a sign that it is over. */
  async check(): Promise<void> {
    const { failures } = this;
    try {
      await this.options.check();
      if (this.timer && failures === this.failures) this.end();
    } catch (error) {
      if (this.timer) this.note(error);
    }
  }

  private end(): void {
    const { failures, problem } = this;
    this.close();
    this.failures = 0;
    this.reports.log.info({ failures }, `over: ${problem}`);
  }

  /** Stops checking, and withdraws the problem. */
  close(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.logged.clear();
    this.reports.problems.delete(this.problem);
  }
}
