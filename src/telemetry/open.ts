import type { Attributes } from './tracing.js';
import { setTracing } from './tracing.js';

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

type Environment = Readonly<Record<string, string | undefined>>;

const PACKAGES =
  '@opentelemetry/api @opentelemetry/resources @opentelemetry/sdk-trace-node @opentelemetry/exporter-trace-otlp-http';

/** How long the last spans may take to be sent when the worker ends, in ms. */
const SHUTDOWN_TIMEOUT_MS = 2000;

/**
 * Exports traces if the standard variables name an endpoint, such as `OTEL_EXPORTER_OTLP_ENDPOINT`. The packages of
 * OpenTelemetry read the other variables: `OTEL_SERVICE_NAME`, `OTEL_TRACES_SAMPLER` and so on.
 * @param attributes of the resource, such as the version
 * @returns sends the last spans, and ends
 */
export async function openTracing(
  environment: Environment,
  attributes: Attributes,
  log: Log,
): Promise<() => Promise<void>> {
  if (!isWanted(environment)) return async () => {};
  const protocol = environment.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? environment.OTEL_EXPORTER_OTLP_PROTOCOL;
  if (protocol && protocol !== 'http/json') {
    log.warn(
      { protocol },
      'traces are sent with the protocol http/json; OTEL_EXPORTER_OTLP_PROTOCOL names another one',
    );
  }
  try {
    const { startExporter } = await import('./exporter.js');
    const { tracing, shutdown } = startExporter(attributes, environment);
    setTracing(tracing);
    log.info({}, 'traces are exported to the endpoint of OTEL_EXPORTER_OTLP_ENDPOINT');
    return async () => {
      setTracing(undefined);
      await Promise.race([shutdown(), new Promise((resolve) => setTimeout(resolve, SHUTDOWN_TIMEOUT_MS).unref())]);
    };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    log.warn({}, `no traces are exported, because the packages for it are missing; run: npm install ${PACKAGES}`);
    return async () => {};
  }
}

function isWanted(environment: Environment): boolean {
  const endpoint = environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || environment.OTEL_EXPORTER_OTLP_ENDPOINT;
  const isOff = environment.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || environment.OTEL_TRACES_EXPORTER === 'none';
  return Boolean(endpoint) && !isOff;
}
