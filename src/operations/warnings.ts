/**
 * What operators should look at although nothing is down. Unlike a problem, a warning does not make the server `degraded`.
 * It disappears by itself.
 */
export class Warnings {
  private readonly ends = new Map<string, number>();

  constructor(private readonly now = () => performance.now()) {}

  /** Adds a warning, or keeps one that is known, for this number of ms from now on. The texts come from a fixed list. */
  note(text: string, ms: number): void {
    this.ends.set(text, this.now() + ms);
  }

  /** The present ones. */
  get list(): string[] {
    return [...this.ends].filter(([, end]) => end > this.now()).map(([text]) => text);
  }
}
