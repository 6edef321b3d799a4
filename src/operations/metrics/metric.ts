import type { Counter, Gauge, Registry } from 'prom-client';
import { Histogram } from './histogram.js';
import { promClient } from './prom-client.js';

/** One value of a metric with labels: the values of the labels in order, then the number. */
export type Labelled = readonly [...labels: string[], value: number];

/** A value that other code keeps, and that each scrape reads. */
export interface Metric {
  name: string;
  type: 'counter' | 'gauge';
  help: string;
  labels?: readonly string[];
  /** A number, or one for each combination of labels; undefined if there is no value at present. */
  read(): number | undefined | Iterable<Labelled>;
}

type Simple = (name: string, help: string, read: () => number | undefined) => Metric;

/** A counter without labels. */
export const counter: Simple = (name, help, read) => ({ name, type: 'counter', help, read });

/** A gauge without labels. */
export const gauge: Simple = (name, help, read) => ({ name, type: 'gauge', help, read });

/** Adds metrics to a registry, which reads them on each scrape. */
export function register(registry: Registry, metrics: readonly (Metric | Histogram)[]): void {
  const { Counter, Gauge } = promClient();
  for (const metric of metrics) {
    if (metric instanceof Histogram) {
      metric.register(registry);
      continue;
    }
    const { name, help, labels: labelNames = [], type } = metric;
    const Kind = type === 'gauge' ? Gauge : Counter;
    new Kind({
      name,
      help,
      labelNames,
      registers: [registry],
      collect(this: Gauge | Counter) {
        this.reset();
        // Otherwise a metric without labels would be 0 even if it has no value.
        this.remove({});
        for (const [labels, value] of valuesOf(metric)) this.inc(labels, value);
      },
    });
  }
}

function* valuesOf(metric: Metric): Generator<[Record<string, string>, number]> {
  const values = metric.read();
  if (values === undefined) return;
  if (typeof values === 'number') return yield [{}, values];
  const { labels = [] } = metric;
  for (const one of values) {
    yield [Object.fromEntries(labels.map((label, index) => [label, one[index] as string])), one.at(-1) as number];
  }
}
