import type { Clock } from '../clock.js';

/** How often the delay of the event loop is measured, in ms. */
const INTERVAL_MS = 100;
/** The number of measurements for which a level is kept, so that it does not flap. */
const HELD_FOR = 5;

/** If a message to a room would leave later than this, it is rejected, in ms. */
const MAX_LATE_MS = 250;

/** From this share of a core on, a process is late because of what it does itself. */
const BUSY_SHARE = 0.7;

/** The levels, each from a delay on, in ms. An accepted message waits about as long as the delay. */
export const levels = [
  { name: 'normal', fromMs: 0 },
  /** Volatile messages to rooms are dropped; presence events too if they are volatile. */
  { name: 'busy', fromMs: 100 },
  /** New clients are rejected. */
  { name: 'full', fromMs: 250 },
  /** New messages are rejected. */
  { name: 'overloaded', fromMs: 500 },
] as const;

export type LoadLevel = 0 | 1 | 2 | 3;

/** Measures the delay of the event loop and of the outbox, and derives a load level from the longer of them. */
export class LoadMonitor {
  level: LoadLevel = 0;
  /** The last measured delay, in ms. */
  delayMs = 0;
  /** Called with each new level. */
  onChange: ((level: LoadLevel) => void) | undefined;
  private due: number;
  /** The delays of the last looks: one long turn alone is no overload. */
  private readonly recent = [0, 0, 0];
  private lookedAt: number;
  private cpuUsed = 0;
  private heldFor = 0;
  private timer: unknown;

  /**
   * @param lateMs how late a message to a room leaves that comes now, in ms
   * @param cpuMs the CPU time that this process has used, in ms
   */
  constructor(
    private readonly clock: Clock,
    private readonly lateMs: () => number,
    private readonly cpuMs = cpuOfProcess,
  ) {
    this.lookedAt = clock.now();
    this.due = this.lookedAt + INTERVAL_MS;
  }

  /** Whether a new message must be rejected: an accepted one would be sent too late. */
  get rejectsMessages(): boolean {
    return this.level >= 3 || this.lateMs() > MAX_LATE_MS;
  }

  start(): void {
    this.timer ??= this.clock.setTimeout(this.look, INTERVAL_MS);
    (this.timer as { unref?(): void }).unref?.();
  }

  close(): void {
    this.clock.clearTimeout(this.timer);
    this.timer = undefined;
  }

  private readonly look = (): void => {
    const now = this.clock.now();
    this.recent.shift();
    this.recent.push(this.isBusy(now) ? Math.max(now - this.due, this.lateMs(), 0) : 0);
    this.delayMs = Math.min(...this.recent);
    const level = levelOf(this.delayMs);
    if (level >= this.level) this.heldFor = HELD_FOR;
    else this.heldFor--;
    if (level > this.level || this.heldFor <= 0) this.change(level);
    this.due = now + INTERVAL_MS;
    this.timer = undefined;
    this.start();
  };

  /** Whether this process has used the time itself. A process that gets no CPU is late as well, and not overloaded. */
  private isBusy(now: number): boolean {
    const used = this.cpuMs();
    const share = (used - this.cpuUsed) / (now - this.lookedAt);
    this.cpuUsed = used;
    this.lookedAt = now;
    return share > BUSY_SHARE;
  }

  private change(level: LoadLevel): void {
    this.heldFor = HELD_FOR;
    if (level === this.level) return;
    this.level = level;
    this.onChange?.(level);
  }
}

function cpuOfProcess(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function levelOf(delayMs: number): LoadLevel {
  return levels.findLastIndex(({ fromMs }) => delayMs >= fromMs) as LoadLevel;
}
