import type { Logger } from 'pino';
import type { Metric } from '../operations/metrics/metric.js';

/** At most one log line in this time, in ms. */
const LOG_INTERVAL_MS = 60_000;

/** Where a malformed message came from: the backplane, a part of the links between workers, state rooms, or the application. */
export type MalformedSource = 'bus' | 'relay' | 'metrics' | 'mesh' | 'state' | 'application';

/** Counts the malformed messages from other workers and machines, and logs one of them per minute. */
export class MalformedMessages {
  private readonly counts = new Map<MalformedSource, number>([['bus', 0]]);
  private unlogged = 0;
  private lastLogged = Number.NEGATIVE_INFINITY;

  constructor(private readonly log: Logger) {}

  note(source: MalformedSource, reason: string): void {
    this.counts.set(source, (this.counts.get(source) ?? 0) + 1);
    this.unlogged++;
    const now = performance.now();
    if (now - this.lastLogged < LOG_INTERVAL_MS) return;
    this.log.warn({ source, reason, dropped: this.unlogged }, 'malformed messages from other servers were dropped');
    this.lastLogged = now;
    this.unlogged = 0;
  }

  metrics(): Metric[] {
    return [
      {
        name: 'gjallar_bus_malformed_total',
        type: 'counter',
        help: 'Messages from other workers and machines that were dropped because they were malformed, by source.',
        labels: ['source'],
        read: () => this.counts,
      },
    ];
  }
}
