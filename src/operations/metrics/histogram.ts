import type { Histogram as PromHistogram, Registry } from 'prom-client';
import { promClient } from './prom-client.js';

export interface HistogramOptions {
  name: string;
  help: string;
  /** The name of its only label. */
  label: string;
  /** Upper bounds, in the unit of the name. */
  buckets: number[];
}

/** A histogram with one label. prom-client is loaded after the first value, since nothing needs it to start. */
export class Histogram {
  private histogram: PromHistogram | undefined;
  private pending: [label: string, value: number][] = [];
  /** Called when the first value waits to be registered. Without it, values are dropped. */
  onUsed: (() => void) | undefined;

  constructor(private readonly options: HistogramOptions) {}

  get name(): string {
    return this.options.name;
  }

  observe(label: string, value: number): void {
    if (this.histogram) return this.histogram.labels(label).observe(value);
    if (!this.onUsed) return;
    this.pending.push([label, value]);
    if (this.pending.length === 1) this.onUsed();
  }

  register(registry: Registry): void {
    const { label, ...options } = this.options;
    this.histogram = new (promClient().Histogram)({ ...options, labelNames: [label], registers: [registry] });
    for (const one of this.pending) this.observe(...one);
    this.pending = [];
  }
}
