import { own } from './owner.js';
import type { Reason } from './problems.js';
import { type Reports, thisProcess } from './process.js';
import { Seldom } from './warnings.js';

export interface OutageOptions {
  /** The line of the log when it is over. @default `over: ` and the problem */
  over?: string;
  /** @default 'error' */
  level?: 'error' | 'warn';
  reports?: Pick<Reports, 'log' | 'problems'> | undefined;
}

/** While an outage lasts, the same words have a line once in this time, in ms: its reason may go to and fro. */
const REPEAT_MS = 60_000;

/**
 * One thing that can be down. Each outage has one line in the log when it begins, one when its reason changes, one when it
 * ends, and is one of the problems of the process in between.
 */
export class Outage {
  private present: Reason | undefined;
  private lines = new Seldom(REPEAT_MS);
  private readonly reports: Pick<Reports, 'log' | 'problems'>;

  constructor(private readonly options: OutageOptions = {}) {
    this.reports = options.reports ?? thisProcess.reports;
  }

  get isInProgress(): boolean {
    return this.present !== undefined;
  }

  /**
   * It is down, or still is.
   * @param fields for the log alone, such as the error
   */
  begin(reason: Reason, fields: object = {}): void {
    const { code, text } = reason;
    if (text === this.present?.text) return;
    this.present = reason;
    const { log, problems } = this.reports;
    problems.raise(this, reason);
    if (this.lines.due(text) !== undefined) log[this.options.level ?? 'error']({ code, ...fields }, text);
  }

  end(fields: object = {}): void {
    const { present, options } = this;
    if (!present) return;
    this.close();
    this.reports.log.info({ code: present.code, ...fields }, options.over ?? `over: ${present.text}`);
  }

  /** Withdraws the problem without a word. */
  close(): void {
    this.present = undefined;
    this.lines = new Seldom(REPEAT_MS);
    this.reports.problems.clear(this);
  }
}

/** An outage is over when no call has failed for so long; a check then confirms it. */
const QUIET_MS = 3000;

interface CheckedOptions extends OutageOptions {
  /** What is down, in public words. The log adds the error, which may name hosts and users. */
  reasonFor(error: unknown): Reason;
  /** Tries whether the outage is over; rejects if it is not. */
  check(): Promise<unknown>;
}

/** An outage that calls notice. While it lasts, the thing is tried every few seconds, so it ends even if no client asks. */
export class CheckedOutage extends Outage {
  private failures = 0;
  private quietSince = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly checked: CheckedOptions) {
    super(checked);
  }

  /** A call has failed. */
  failed(error: unknown): void {
    this.failures++;
    this.note(error);
    this.timer ??= setInterval(() => {
      if (performance.now() - this.quietSince >= QUIET_MS) own('checking whether an outage is over', this.check());
    }, QUIET_MS).unref();
  }

  private note(error: unknown): void {
    this.quietSince = performance.now();
    this.begin(this.checked.reasonFor(error), { error });
  }

  /** Ends the outage if a check succeeds and nothing fails meanwhile. Call it when there is a sign that it is over. */
  async check(): Promise<void> {
    const { failures } = this;
    try {
      await this.checked.check();
      if (failures === this.failures) this.end({ failures });
    } catch (error) {
      if (this.timer) this.note(error);
    }
  }

  /** Stops checking, and withdraws the problem. */
  override close(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.failures = 0;
    super.close();
  }
}
