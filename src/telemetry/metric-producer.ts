import { ValueType } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type CollectionResult,
  DataPointType,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';

type Labels = Record<string, string | number>;

/** A metric in the form of prom-client. */
export interface ScrapedMetric {
  name: string;
  help: string;
  type: unknown;
  values: { value: number; labels: Labels; metricName?: string }[];
}

type Times = { startTime: [number, number]; endTime: [number, number] };

/** Gives the metrics of `/metrics` to OpenTelemetry, under the same names. */
export class RegistryProducer implements MetricProducer {
  private readonly startTime = timeOf(Date.now());

  constructor(
    private readonly resource: Resource,
    private readonly scrape: () => Promise<ScrapedMetric[]>,
  ) {}

  async collect(): Promise<CollectionResult> {
    const scraped = await this.scrape();
    const times = { startTime: this.startTime, endTime: timeOf(Date.now()) };
    const metrics = scraped.map((metric) => convert(metric, times));
    const scopeMetrics = [{ scope: { name: 'gjallar' }, metrics }];
    return { resourceMetrics: { resource: this.resource, scopeMetrics }, errors: [] };
  }
}

function convert(metric: ScrapedMetric, times: Times): MetricData {
  const { name, help: description, type } = metric;
  const base = {
    descriptor: { name, description, unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  if (type === 'histogram') {
    return { ...base, dataPointType: DataPointType.HISTOGRAM, dataPoints: histogramsOf(metric, times) };
  }
  const dataPoints = metric.values.map(({ value, labels }) => ({ ...times, attributes: labels, value }));
  return type === 'counter'
    ? { ...base, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
    : { ...base, dataPointType: DataPointType.GAUGE, dataPoints };
}

/** The buckets of Prometheus count everything below their bound; those of OpenTelemetry begin at the one before. */
function histogramsOf({ name, values }: ScrapedMetric, times: Times) {
  const points = new Map<string, { attributes: Labels; boundaries: number[]; sums: number[]; sum: number }>();
  for (const { value, labels, metricName } of values) {
    const { le, ...attributes } = labels;
    const key = JSON.stringify(attributes);
    const point = points.get(key) ?? { attributes, boundaries: [], sums: [], sum: 0 };
    points.set(key, point);
    if (metricName === `${name}_sum`) point.sum = value;
    if (le === undefined) continue;
    point.sums.push(value);
    if (le !== '+Inf') point.boundaries.push(Number(le));
  }
  return [...points.values()].map(({ attributes, boundaries, sums, sum }) => {
    const counts = sums.map((value, index) => value - (sums[index - 1] ?? 0));
    const value = { buckets: { boundaries, counts }, sum, count: sums.at(-1) ?? 0 };
    return { ...times, attributes, value };
  });
}

function timeOf(ms: number): [number, number] {
  return [Math.floor(ms / 1000), (ms % 1000) * 1_000_000];
}
