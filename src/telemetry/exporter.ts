import {
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { RegistryProducer, type ScrapedMetric } from './metric-producer.js';
import type { Attributes, SpanOptions, Tracing } from './tracing.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** The default of the specification for OTEL_METRIC_EXPORT_INTERVAL, in ms. */
const DEFAULT_INTERVAL_MS = 60_000;
const MAX_EXPORT_MS = 30_000;

const kinds = {
  server: SpanKind.SERVER,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const;

/** What the exporters send. */
export interface ExporterOptions {
  /** Attributes of the resource; those of the standard variables come first. */
  attributes: Attributes;
  environment: Environment;
  hasTraces: boolean;
  /** The metrics; undefined if they are not exported. */
  metrics: (() => Promise<ScrapedMetric[]>) | undefined;
}

/** Starts the exporters. They read the standard variables that name endpoints, samplers and so on by themselves. */
export function startExporters({ attributes, environment, hasTraces, metrics }: ExporterOptions): {
  tracing: Tracing | undefined;
  shutdown(): Promise<void>;
} {
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': environment.OTEL_SERVICE_NAME || 'gjallar', ...attributes }))
    .merge(detectResources({ detectors: [envDetector] }));
  const meters = metrics && startMetrics(resource, metrics, environment);
  const spans = hasTraces ? startTraces(resource) : undefined;
  return {
    tracing: spans?.tracing,
    shutdown: async () => void (await Promise.allSettled([spans?.provider.shutdown(), meters?.shutdown()])),
  };
}

function startMetrics(resource: Resource, metrics: () => Promise<ScrapedMetric[]>, environment: Environment) {
  const interval = Number(environment.OTEL_METRIC_EXPORT_INTERVAL) || DEFAULT_INTERVAL_MS;
  const reader = new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter(),
    exportIntervalMillis: interval,
    exportTimeoutMillis: Math.min(interval, MAX_EXPORT_MS),
    metricProducers: [new RegistryProducer(resource, metrics)],
  });
  return new MeterProvider({ resource, readers: [reader] });
}

function startTraces(resource: Resource): { provider: NodeTracerProvider; tracing: Tracing } {
  const spanProcessors = [new BatchSpanProcessor(new OTLPTraceExporter())];
  const provider = new NodeTracerProvider({ resource, spanProcessors });
  // Makes spans of one piece of work find their parent, across `await` too.
  provider.register();
  const tracer = trace.getTracer('gjallar');
  const tracing: Tracing = {
    run<T>(spanName: string, { kind, attributes: own = {}, parent }: SpanOptions, work: () => T): T {
      return tracer.startActiveSpan(spanName, { kind: kinds[kind], attributes: own }, contextOf(parent), (span) => {
        try {
          const result = work();
          if (!(result instanceof Promise)) {
            span.end();
            return result;
          }
          return result.then(
            (value) => {
              span.end();
              return value;
            },
            (error) => fail(span, error),
          ) as T;
        } catch (error) {
          return fail(span, error);
        }
      });
    },
    current: () => {
      const carrier: { traceparent?: string } = {};
      if (trace.getActiveSpan()?.isRecording()) propagation.inject(context.active(), carrier);
      return carrier.traceparent;
    },
  };
  return { provider, tracing };
}

function contextOf(parent: string | undefined): Context {
  return parent === undefined ? context.active() : propagation.extract(ROOT_CONTEXT, { traceparent: parent });
}

/** Only the code of an error is exported. Its message may contain what a client has sent. */
function fail(span: Span, error: unknown): never {
  const { code = 'INTERNAL' } = error as { code?: unknown };
  span.setAttribute('error.type', String(code));
  span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
  throw error;
}
