import { type Attributes, setTracing } from './tracing.js';

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The metrics, in the form of prom-client. */
interface Registry {
  getMetricsAsJSON(): Promise<object[]>;
}

const PACKAGES = [
  'api',
  'resources',
  'sdk-trace-node',
  'sdk-metrics',
  'exporter-trace-otlp-http',
  'exporter-metrics-otlp-http',
];

/** How long the last data may take to be sent when the worker ends, in ms. */
const SHUTDOWN_TIMEOUT_MS = 2000;

/**
 * Exports traces and metrics with OTLP if the standard variables name an endpoint, such as
 * `OTEL_EXPORTER_OTLP_ENDPOINT`.
 * @param attributes of the resource, such as the version
 * @returns sends what is left, and ends
 */
export async function openTelemetry(
  environment: Environment,
  attributes: Attributes,
  metrics: { readonly registry: Registry },
  log: Log,
): Promise<() => Promise<void>> {
  const hasTraces = isWanted('TRACES', environment);
  const hasMetrics = isWanted('METRICS', environment);
  if (!hasTraces && !hasMetrics) return async () => {};
  const protocol = environment.OTEL_EXPORTER_OTLP_PROTOCOL;
  if (protocol && protocol !== 'http/json') {
    log.warn(
      { protocol },
      'OpenTelemetry exports with the protocol http/json; OTEL_EXPORTER_OTLP_PROTOCOL names another',
    );
  }
  try {
    const { startExporters } = await import('./exporter.js');
    const scrape = hasMetrics ? () => metrics.registry.getMetricsAsJSON() as Promise<never> : undefined;
    const { tracing, shutdown } = startExporters({ attributes, environment, hasTraces, metrics: scrape });
    setTracing(tracing);
    log.info({ traces: hasTraces, metrics: hasMetrics }, 'OpenTelemetry exports to the endpoint of its variables');
    return async () => {
      setTracing(undefined);
      await Promise.race([shutdown(), new Promise((resolve) => setTimeout(resolve, SHUTDOWN_TIMEOUT_MS).unref())]);
    };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    const names = PACKAGES.map((name) => `@opentelemetry/${name}`).join(' ');
    log.warn({}, `OpenTelemetry exports nothing, because its packages are missing; run: npm install ${names}`);
    return async () => {};
  }
}

/** Whether the variables name an endpoint for a signal, and do not turn it off. */
function isWanted(signal: 'TRACES' | 'METRICS', environment: Environment): boolean {
  const endpoint = environment[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`] || environment.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (!endpoint || environment.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return false;
  return environment[`OTEL_${signal}_EXPORTER`] !== 'none';
}
