/** What a span is about, by the words of OpenTelemetry: a request, a message that is sent or received, or a step. */
export type SpanKind = 'server' | 'producer' | 'consumer' | 'internal';

export type Attributes = Record<string, string | number>;

export interface SpanOptions {
  kind: SpanKind;
  attributes?: Attributes;
  /** The span that this one follows, as the header `traceparent` has it; by default the one in progress. */
  parent?: string | undefined;
}

/** Makes spans. Without an exporter there is none, and nothing of OpenTelemetry is loaded. */
export interface Tracing {
  /** Runs work within a span, which ends with the work or with the promise that it returns. */
  run<T>(name: string, options: SpanOptions, work: () => T): T;
  /** The span in progress, as the header `traceparent` has it; undefined if it is not sampled. */
  current(): string | undefined;
}

let tracing: Tracing | undefined;

/** Turns tracing on in this process, or off again. */
export function setTracing(on: Tracing | undefined): void {
  tracing = on;
}

/** Runs work within a span, if tracing is on. */
export function traced<T>(name: string, options: SpanOptions, work: () => T): T {
  return tracing ? tracing.run(name, options, work) : work();
}

/** What a message to another worker carries, so that the trace continues there: nothing if tracing is off. */
export function traceFields(): { traceparent?: string } {
  const traceparent = tracing?.current();
  return traceparent === undefined ? {} : { traceparent };
}
