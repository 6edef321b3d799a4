import { own } from '../../base/owner.js';

/** How long a client that has seen more than this worker waits for it, in ms. */
const MAX_WAIT_MS = 5000;
/** How long changes that were announced are waited for before the others are asked again, in ms. */
const ASK_AGAIN_MS = 200;
/** More clients than this do not wait: they get a snapshot. */
const MAX_WAITERS = 10_000;

/** Whether this worker has what a client has seen: yes, not yet, or never. */
export type Standing = 'reached' | 'open' | 'lost';

interface Waiter {
  standing(): Standing;
  /** Whether the client still wants to know. */
  isWanted(): boolean;
  readonly until: number;
  done(isReached: boolean): void;
}

/** Clients that have seen changes which this worker may not have yet. */
export class Waiters {
  private list: Waiter[] = [];
  private isAsking = false;
  private timer: NodeJS.Timeout | undefined;

  /** @param askOthers asks the other workers how far they are */
  constructor(private readonly askOthers: () => Promise<void>) {}

  add(standing: () => Standing, isWanted: () => boolean, done: (isReached: boolean) => void): void {
    const now = standing();
    if (now !== 'open' || this.list.length >= MAX_WAITERS) return done(now === 'reached');
    this.list.push({ standing, isWanted, done, until: performance.now() + MAX_WAIT_MS });
    own('asking the other workers how far they are', this.ask());
  }

  /** Call it when more has arrived. */
  check(): void {
    if (this.list.length === 0) return;
    const now = performance.now();
    const left: Waiter[] = [];
    for (const waiter of this.list.splice(0)) {
      // A client that joins again and again waits once.
      if (!waiter.isWanted()) continue;
      const standing = waiter.standing();
      if (standing === 'open' && now < waiter.until) left.push(waiter);
      else waiter.done(standing === 'reached');
    }
    this.list.push(...left);
    if (this.list.length > 0) this.timer ??= setTimeout(this.again, ASK_AGAIN_MS);
  }

  close(): void {
    clearTimeout(this.timer);
    for (const { done } of this.list.splice(0)) done(false);
  }

  private readonly again = (): void => {
    this.timer = undefined;
    this.check();
    own('asking the other workers how far they are', this.ask());
  };

  private async ask(): Promise<void> {
    if (this.isAsking || this.list.length === 0) return;
    this.isAsking = true;
    await this.askOthers().finally(() => {
      this.isAsking = false;
    });
    this.check();
  }
}
