import { GjallarError } from '../errors.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** What to use instead of variables that earlier versions had. */
const removed: Readonly<Record<string, { instead: string; isInUse?: (environment: Environment) => boolean }>> = {
  ...each(
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT'],
    {
      instead:
        'gjallar exports no traces and metrics by itself any more. Load the instrumentations of OpenTelemetry with ' +
        'NODE_OPTIONS, as docs/operations/opentelemetry.md shows, or unset the variable',
      // OpenTelemetry itself reads the same variable where it is loaded.
      isInUse: (environment) => isOpenTelemetryLoaded() || environment.OTEL_SDK_DISABLED?.toLowerCase() === 'true',
    },
  ),
};

/** @throws GjallarError BAD_CONFIG with what to use instead, if a variable is set that the service does not read any more */
export function rejectRemoved(environment: Environment): void {
  for (const [name, { instead, isInUse }] of Object.entries(removed)) {
    if (!environment[name]?.trim() || isInUse?.(environment)) continue;
    throw new GjallarError('BAD_CONFIG', `${name} was removed: ${instead}`);
  }
}

function each<T>(names: readonly string[], value: T): Record<string, T> {
  return Object.fromEntries(names.map((name) => [name, value]));
}

/** Where the API of OpenTelemetry keeps what is registered, for all its copies in a process. */
function isOpenTelemetryLoaded(): boolean {
  return Symbol.for('opentelemetry.js.api.1') in globalThis;
}
