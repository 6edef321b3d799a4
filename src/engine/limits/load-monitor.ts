import type { Clock } from '../clock.js';

/** How often the event loop is looked at, in ms. */
const INTERVAL_MS = 100;
/** The level holds for so many looks, so that it does not change to and fro. */
const HELD_FOR = 5;

/**
 * What gives way, and from which delay of the event loop on, in ms. A message that is accepted waits about as long as
 * the delay is.
 */
export const levels = [
  { name: 'normal', fromMs: 0 },
  /** Volatile messages and changes of presence are left out. */
  { name: 'busy', fromMs: 100 },
  /** New clients are turned away. */
  { name: 'full', fromMs: 250 },
  /** New messages are refused. */
  { name: 'overloaded', fromMs: 500 },
] as const;

export type LoadLevel = 0 | 1 | 2 | 3;

/** Watches how late the event loop is, and says what has to give way. */
export class LoadMonitor {
  level: LoadLevel = 0;
  /** How late the event loop was at the last look, in ms. */
  delayMs = 0;
  /** Called with each new level. */
  onChange: ((level: LoadLevel) => void) | undefined;
  private due: number;
  private heldFor = 0;
  private timer: unknown;

  constructor(private readonly clock: Clock) {
    this.due = clock.now() + INTERVAL_MS;
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
    this.delayMs = Math.max(0, now - this.due);
    const level = levelOf(this.delayMs);
    if (level >= this.level) this.heldFor = HELD_FOR;
    else this.heldFor--;
    if (level > this.level || this.heldFor <= 0) this.change(level);
    this.due = now + INTERVAL_MS;
    this.timer = undefined;
    this.start();
  };

  private change(level: LoadLevel): void {
    this.heldFor = HELD_FOR;
    if (level === this.level) return;
    this.level = level;
    this.onChange?.(level);
  }
}

function levelOf(delayMs: number): LoadLevel {
  return levels.findLastIndex(({ fromMs }) => delayMs >= fromMs) as LoadLevel;
}
