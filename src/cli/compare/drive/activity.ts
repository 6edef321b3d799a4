import { setTimeout as wait } from 'node:timers/promises';

/** Knows when clients and server have nothing more to say: nothing came or went for a while, and no answer is missing. */
export class Activity {
  private last = performance.now();
  private pending = 0;

  constructor(private readonly quietMs: number) {}

  note(): void {
    this.last = performance.now();
  }

  /** Until the returned function is called, something is missing. */
  begin(): () => void {
    this.pending++;
    this.note();
    let isOver = false;
    return () => {
      if (!isOver) this.pending--;
      isOver = true;
      this.note();
    };
  }

  /** Resolves when it is quiet, or after `maxMs`. */
  async settled(maxMs: number): Promise<void> {
    const end = performance.now() + maxMs;
    while (performance.now() < end) {
      const silent = performance.now() - this.last;
      if (this.pending === 0 && silent >= this.quietMs) return;
      await wait(Math.max(5, Math.min(this.quietMs - silent, end - performance.now())));
    }
  }
}
