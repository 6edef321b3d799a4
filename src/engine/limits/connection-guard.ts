import { readFileSync } from 'node:fs';

/** Descriptors that are kept for files, databases and the other workers. */
const RESERVE = 256;

/**
 * Counts the connections on the port, and turns new ones away before the process runs out of file descriptors: accepting
 * would then fail again and again, and keep the worker busy with that.
 */
export class ConnectionGuard {
  /** Connections that were turned away. */
  refused = 0;
  /** Connections that are open, WebSockets too. */
  open = 0;
  /** Called when connections begin to be turned away, and when that is over. */
  onChange: ((isFull: boolean) => void) | undefined;
  private isFull = false;

  /** @param max how many connections may be open */
  constructor(readonly max = maxConnections()) {}

  /** A connection was accepted. Returns false where it is to be closed. */
  opened(): boolean {
    this.open++;
    if (this.open <= this.max) return true;
    this.refused++;
    if (!this.isFull) this.change(true);
    return false;
  }

  closed(): void {
    this.open--;
    // Not at the first one that goes, or each client that comes and goes would be news.
    if (this.isFull && this.open < this.max - this.max / 20) this.change(false);
  }

  private change(isFull: boolean): void {
    this.isFull = isFull;
    this.onChange?.(isFull);
  }
}

/** The most file descriptors that this process may have; undefined where the system does not tell. */
export function maxDescriptors(): number | undefined {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const [, soft] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

function maxConnections(): number {
  const descriptors = maxDescriptors();
  return descriptors === undefined ? Number.POSITIVE_INFINITY : Math.max(RESERVE, descriptors - RESERVE);
}
