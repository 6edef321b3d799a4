import { connectionsWithin, maxDescriptors, openDescriptors } from '../../base/system-limits.js';

/**
 * Counts the connections on the port, and rejects new ones before the process runs out of file descriptors. Otherwise
 * accepting would fail again and again, which would keep the worker busy.
 */
export class ConnectionGuard {
  /** Connections that were rejected. */
  refused = 0;
  /** Open connections, including WebSockets. */
  open = 0;
  /** Called when the guard starts to reject connections, and when it stops. */
  onChange: ((isFull: boolean) => void) | undefined;
  /** The limit that the application sets, which it may change. */
  applicationLimit: () => number = () => Number.POSITIVE_INFINITY;
  private isFull = false;

  /** @param max maximum number of open connections */
  constructor(readonly max = maxConnections()) {}

  /** Counts an accepted connection. Returns false if it must be closed. */
  opened(): boolean {
    this.open++;
    if (this.open > this.applicationLimit()) return false;
    if (this.open <= this.max) return true;
    this.refused++;
    if (!this.isFull) this.change(true);
    return false;
  }

  closed(): void {
    this.open--;
    // The margin keeps single clients that come and go from toggling the state.
    if (this.isFull && this.open < this.max - this.max / 20) this.change(false);
  }

  private change(isFull: boolean): void {
    this.isFull = isFull;
    this.onChange?.(isFull);
  }
}

function maxConnections(): number {
  const descriptors = maxDescriptors();
  return descriptors === undefined ? Number.POSITIVE_INFINITY : connectionsWithin(descriptors, openDescriptors());
}
