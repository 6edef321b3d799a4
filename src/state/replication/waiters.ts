import { own, owned } from '../../base/owner.js';
import { type Clock, systemClock } from '../../engine/clock.js';

/** How long a client that has seen more than this worker waits for it, in ms. */
const MAX_WAIT_MS = 5000;
/** How long changes that were announced are waited for before the others are asked again, in ms. */
const ASK_AGAIN_MS = 200;
/** More clients than this do not wait: they get a snapshot. */
const MAX_WAITERS = 1000;
/** How often the clients that wait are looked at, at most, in ms: each message of another worker may let them in. */
const CHECK_MS = 20;

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
  private timer: unknown;
  private checking: unknown;
  private checkedAt = Number.NEGATIVE_INFINITY;

  /** @param askOthers asks the other workers how far they are */
  constructor(
    private readonly askOthers: () => Promise<void>,
    private readonly clock: Clock = systemClock,
  ) {}

  add(standing: () => Standing, isWanted: () => boolean, done: (isReached: boolean) => void): void {
    const now = standing();
    if (now !== 'open' || this.list.length >= MAX_WAITERS) return done(now === 'reached');
    this.list.push({ standing, isWanted, done, until: this.clock.now() + MAX_WAIT_MS });
    own('asking the other workers how far they are', this.ask());
  }

  /** Call it when more has arrived. All who wait are looked at now, or in a moment. */
  check(): void {
    if (this.list.length === 0 || this.checking) return;
    const wait = this.checkedAt + CHECK_MS - this.clock.now();
    if (wait <= 0) return this.checkNow();
    this.checking = this.clock.setTimeout(this.checkLater, wait);
  }

  private readonly checkLater = owned('letting members of state rooms in', () => {
    this.checking = undefined;
    this.checkNow();
  });

  private checkNow(): void {
    const now = this.clock.now();
    this.checkedAt = now;
    const left: Waiter[] = [];
    for (const waiter of this.list.splice(0)) {
      // A client that joins again and again waits once.
      if (!waiter.isWanted()) continue;
      const standing = waiter.standing();
      if (standing === 'open' && now < waiter.until) left.push(waiter);
      else waiter.done(standing === 'reached');
    }
    this.list.push(...left);
    if (this.list.length > 0) this.timer ??= this.clock.setTimeout(this.again, ASK_AGAIN_MS);
  }

  close(): void {
    this.clock.clearTimeout(this.timer);
    this.clock.clearTimeout(this.checking);
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
