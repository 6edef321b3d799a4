/** How much work may be done before other clients are served. */
const MAX_UNITS = 500;
const MIN_PAUSE_MS = 1;

/**
 * Spreads the work of recoveries over time: after each part, the worker serves its other clients for as long as that part
 * took, however many return at once. A unit is about what it takes to join a room or to send a packet.
 */
export class Turns {
  private queue: { readonly cost: number; readonly go: () => void }[] = [];
  private head = 0;
  private units = MAX_UNITS;
  private startedAt: number | undefined;
  private immediate: NodeJS.Immediate | undefined;
  private timer: NodeJS.Timeout | undefined;

  /** Resolves when so much work may be done, in the order of the calls. It must then be done at once. */
  take(cost: number): Promise<void> {
    if (this.head === this.queue.length && this.units > 0) {
      this.spend(cost);
      return Promise.resolve();
    }
    return new Promise((go) => this.queue.push({ cost, go }));
  }

  close(): void {
    clearImmediate(this.immediate);
    clearTimeout(this.timer);
    for (const { go } of this.queue.slice(this.head)) go();
    this.queue = [];
    this.head = 0;
  }

  private spend(cost: number): void {
    this.units -= cost;
    if (this.startedAt !== undefined) return;
    this.startedAt = performance.now();
    this.immediate = setImmediate(() => {
      // A worker that gets little of the processor thus rests longer, too.
      const pause = Math.max(MIN_PAUSE_MS, performance.now() - this.startedAt!);
      this.timer = setTimeout(() => this.renew(), pause);
    });
  }

  private renew(): void {
    this.startedAt = undefined;
    this.units = MAX_UNITS;
    while (this.units > 0 && this.head < this.queue.length) {
      const { cost, go } = this.queue[this.head++]!;
      this.spend(cost);
      go();
    }
    if (this.head * 2 < this.queue.length) return;
    this.queue = this.queue.slice(this.head);
    this.head = 0;
  }
}
