/** Turns after which a worker that has not said hello counts as one that was there before. */
const MAX_TURNS = 2;

/**
 * Workers that were there before this one, and that it heard of after it had sent broadcasts: they were paused when it
 * started, or for so long that they counted as gone. What was sent meanwhile did not go to them. A new worker, which
 * says hello, has missed nothing; its hello may come after its first frame.
 */
export class Latecomers {
  private readonly turns = new Map<string, number>();

  /** @param onLate called with each of them once */
  constructor(private readonly onLate: (worker: string) => void) {}

  /** A worker was heard of, and has not said hello. */
  suspect(worker: string): void {
    this.turns.set(worker, 0);
  }

  /** The worker has said hello, or is gone. */
  clear(worker: string): void {
    this.turns.delete(worker);
  }

  /** Call this every two seconds. */
  turn(): void {
    for (const [worker, turns] of this.turns) {
      if (turns + 1 < MAX_TURNS) {
        this.turns.set(worker, turns + 1);
        continue;
      }
      this.turns.delete(worker);
      this.onLate(worker);
    }
  }
}
