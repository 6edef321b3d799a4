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
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import type { Attributes, SpanOptions, Tracing } from './tracing.js';

const kinds = {
  server: SpanKind.SERVER,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const;

/**
 * Starts the exporter. Only this file imports the packages of OpenTelemetry, which are optional.
 * @param attributes of the resource; those of the standard variables come first
 */
export function startExporter(
  attributes: Attributes,
  { OTEL_SERVICE_NAME: name }: Readonly<Record<string, string | undefined>>,
): { tracing: Tracing; shutdown(): Promise<void> } {
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': name || 'gjallar', ...attributes }))
    .merge(detectResources({ detectors: [envDetector] }));
  const provider = new NodeTracerProvider({
    resource,
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
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
  return { tracing, shutdown: () => provider.shutdown() };
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
