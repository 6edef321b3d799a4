import { GjallarError } from '../../base/errors.js';

/** Variables that earlier versions had, and what to use instead. */
const removedVariables: Readonly<Record<string, string>> = {
  PLACE: 'set WORKER_PORTS, and use a proxy that hashes the room, as docs/guide/placement.md shows',
  RELOAD_HOLD:
    'unset it, because DRAIN_TIMEOUT spreads the reconnects, and connectionStateRecovery makes each of them lose nothing',
  GJALLAR_WEBSOCKET_MAX_PAYLOAD:
    "unset it, because nothing stands between clients and the application's own WebSocket servers, whose limits apply",
  PLACE_MOVES: 'unset it, because clients reach the worker that the proxy chooses when they reconnect',
};

/** Commands that earlier versions had, and what to use instead. */
const removedCommands: Readonly<Record<string, string>> = {
  record: 'gjallar compare sends traffic of its own, and --driver FILE plays steps that you write',
  top: 'open /admin on ADMIN_PORT',
};

/** Values of BUS that earlier versions had, and the stock adapters that do the same. */
const removedBuses: Readonly<Record<string, string>> = {
  'redis-sharded': 'createShardedAdapter() of @socket.io/redis-adapter',
  'redis-streams': '@socket.io/redis-streams-adapter',
};

/** @throws GjallarError BAD_CONFIG for the first variable that was removed */
export function rejectRemoved(environment: Readonly<Record<string, string | undefined>>): void {
  for (const [name, instead] of Object.entries(removedVariables)) {
    if (environment[name]?.trim()) throw new GjallarError('BAD_CONFIG', `${name} was removed; ${instead}`);
  }
  if (environment.SLOW_POLICY?.trim() === 'drop') {
    throw new GjallarError(
      'BAD_CONFIG',
      'SLOW_POLICY=drop was removed; unset it, and use state rooms where only the newest value matters, as ' +
        'docs/guide/live-data.md shows',
    );
  }
  const bus = environment.BUS?.trim() ?? '';
  if (!Object.hasOwn(removedBuses, bus)) return;
  throw new GjallarError(
    'BAD_CONFIG',
    `BUS=${bus} was removed; unset BUS to use frames, or pass ${removedBuses[bus]} in your application as ` +
      'docs/fan-out.md#other-adapters describes',
  );
}

/** Variables with which the chat service exported traces and metrics by itself. */
const removedExport = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
] as const;

/** Where the API of OpenTelemetry keeps what is registered in a process, for all its copies. */
const OPEN_TELEMETRY = Symbol.for('opentelemetry.js.api.1');

/**
 * Of the chat service alone: with `gjallar run`, the variables are the application's. Where OpenTelemetry is loaded, or turned
 * off, they are its own.
 *
 * @throws GjallarError BAD_CONFIG for the first such variable
 */
export function rejectRemovedExport(environment: Readonly<Record<string, string | undefined>>): void {
  const name = removedExport.find((each) => environment[each]?.trim());
  if (!name || OPEN_TELEMETRY in globalThis || environment.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return;
  throw new GjallarError(
    'BAD_CONFIG',
    `${name} was removed; load the instrumentations of OpenTelemetry with NODE_OPTIONS, as ` +
      'docs/operations/opentelemetry.md shows, or unset the variable',
  );
}

/** @throws GjallarError BAD_CONFIG for a command that was removed */
export function rejectRemovedCommand(name: string): void {
  if (!Object.hasOwn(removedCommands, name)) return;
  throw new GjallarError('BAD_CONFIG', `gjallar ${name} was removed; ${removedCommands[name]}`);
}
