import { clearTimeout, setTimeout } from './clock.js';

/** A question to several that each of them answers once, or is gone before. */
export class Question<Who, Answer = void> {
  readonly answers = new Map<Who, Answer>();
  /** Those that have not answered. */
  readonly missing: Set<Who>;
  private readonly timer: NodeJS.Timeout;
  private hasEnded = false;

  /** @param onEnd called once: when none is missing, or when the time is up */
  constructor(
    who: Iterable<Who>,
    timeoutMs: number,
    private readonly onEnd: (question: Question<Who, Answer>) => void,
  ) {
    this.missing = new Set(who);
    this.timer = setTimeout(() => this.end(), timeoutMs).unref();
  }

  answered(who: Who, answer: Answer): void {
    if (!this.missing.has(who)) return;
    this.answers.set(who, answer);
    this.gone(who);
  }

  gone(who: Who): void {
    if (this.missing.delete(who) && this.missing.size === 0) this.end();
  }

  end(): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    clearTimeout(this.timer);
    this.onEnd(this);
  }
}
