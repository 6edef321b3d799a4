/** How a wait ends. `displaced`: there were too many waits, and this one was the oldest. */
export type WaitEnd = 'received' | 'late' | 'displaced';

interface Wait {
  /** What is not received yet. */
  readonly missing: Map<string, number>;
  readonly end: (how: WaitEnd) => void;
}

/**
 * Clients that wait for broadcasts that this worker has not received yet. They are found by sender and number, so that a
 * broadcast costs the same however many of them wait, and whatever their offsets name.
 */
export class Waits {
  private readonly bySender = new Map<string, Map<number, Set<Wait>>>();
  /** The oldest first. */
  private readonly all = new Set<Wait>();

  /** @param max how many there may be */
  constructor(private readonly max: number) {}

  get size(): number {
    return this.all.size;
  }

  /**
   * Waits for one broadcast of each sender.
   * @param ms how long
   */
  start(missing: ReadonlyMap<string, number>, ms: number): Promise<WaitEnd> {
    return new Promise((resolve) => {
      const end = (how: WaitEnd) => {
        clearTimeout(timer);
        this.remove(wait);
        resolve(how);
      };
      const wait: Wait = { missing: new Map(missing), end };
      const timer = setTimeout(() => end('late'), ms);
      for (const [sender, number] of missing) this.waitersFor(sender, number).add(wait);
      this.all.add(wait);
      // What is waited for in good faith comes within milliseconds.
      const [oldest] = this.all;
      if (this.all.size > this.max) oldest!.end('displaced');
    });
  }

  /** A worker has received the broadcasts of a sender behind `before`, up to `number`. */
  received(sender: string, before: number, number: number): void {
    const waiters = this.bySender.get(sender);
    if (!waiters) return;
    // Without a gap, this is one broadcast.
    if (number - before <= waiters.size) for (let one = before + 1; one <= number; one++) this.wake(sender, one);
    else for (const one of [...waiters.keys()]) if (one <= number) this.wake(sender, one);
  }

  close(): void {
    for (const { end } of [...this.all]) end('displaced');
  }

  private waitersFor(sender: string, number: number): Set<Wait> {
    const numbers = this.bySender.get(sender) ?? new Map<number, Set<Wait>>();
    this.bySender.set(sender, numbers);
    const waiters = numbers.get(number) ?? new Set();
    numbers.set(number, waiters);
    return waiters;
  }

  private wake(sender: string, number: number): void {
    for (const wait of this.bySender.get(sender)?.get(number) ?? []) {
      this.forget(wait, sender, number);
      if (wait.missing.size === 0) wait.end('received');
    }
  }

  private remove(wait: Wait): void {
    this.all.delete(wait);
    for (const [sender, number] of wait.missing) this.forget(wait, sender, number);
  }

  private forget(wait: Wait, sender: string, number: number): void {
    wait.missing.delete(sender);
    const numbers = this.bySender.get(sender);
    const waiters = numbers?.get(number);
    waiters?.delete(wait);
    if (waiters?.size === 0) numbers!.delete(number);
    if (numbers?.size === 0) this.bySender.delete(sender);
  }
}
