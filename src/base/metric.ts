import type { Counter, Gauge, Histogram as PromHistogram, Registry } from 'prom-client';
import { optionalPackage, packageError, requirePackages } from './optional-packages.js';

const NAME = 'prom-client';
let loaded: typeof import('prom-client') | undefined;

/** Why there are no metrics, if there are none: users of the library install prom-client only if they want them. */
export const noMetrics: string | undefined = packageError('/metrics', [NAME])?.message;

/**
 * Loads the package when it is used first: a worker starts faster without it.
 * @throws GjallarError BAD_CONFIG if prom-client is not installed, or does not work
 */
export function promClient(): typeof import('prom-client') {
  if (!loaded) requirePackages('/metrics', [NAME]);
  loaded ??= optionalPackage<typeof import('prom-client')>(NAME);
  return loaded!;
}

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
