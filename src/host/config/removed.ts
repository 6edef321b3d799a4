import { GjallarError } from '../../base/errors.js';
import { allOptions } from './options.js';

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
      'docs/operations/metrics.md shows, or unset the variable',
  );
}

/** @throws GjallarError BAD_CONFIG for a command that was removed */
export function rejectRemovedCommand(name: string): void {
  if (!Object.hasOwn(removedCommands, name)) return;
  throw new GjallarError('BAD_CONFIG', `gjallar ${name} was removed; ${removedCommands[name]}`);
}

/** Variables of systems and programs that are close to ours by accident. */
const FOREIGN = new Set(['HOME', 'HOSTS', 'HOSTNAME', 'POST', 'SHOST']);

/** A variable that the server does not know, and the option that was probably meant. */
export interface UnknownVariable {
  name: string;
  meant: string;
}

/** Finds variables that have nearly the name of an option, so that a misspelt one is not silently ignored. */
export function unknownVariables(environment: Readonly<Record<string, string | undefined>>): UnknownVariable[] {
  const names = Object.values(allOptions).flatMap(({ name, isSecret }) => (isSecret ? [name, `${name}_FILE`] : [name]));
  const known = new Set(names);
  return Object.keys(environment)
    .filter((name) => !known.has(name) && !FOREIGN.has(name) && /^\w+$/.test(name))
    .map((name) => ({ name, meant: names.find((option) => isNear(name, option)) }))
    .filter((found): found is UnknownVariable => found.meant !== undefined);
}

/**
 * The first sentence of an error of `parseArgs()`. The others tell how to pass such an option as a value. If an unknown option has
 * nearly one of the names, the result says so.
 */
export function withMeantOption(message: string, names: readonly string[]): string {
  const reason = message.split('. ')[0]!;
  const [, unknown] = /^Unknown option '--?([\w-]+)/.exec(reason) ?? [];
  const meant = unknown && names.find((name) => isNear(unknown, name));
  return meant ? `${reason}, did you mean --${meant}?` : reason;
}

/** Whether one name is probably a misspelt other one. */
export function isNear(name: string, option: string): boolean {
  const [one, other] = [name, option].map((text) => text.toUpperCase().replaceAll('_', ''));
  if (one === other) return true;
  return distance(one!, other!) <= (option.length < 8 ? 1 : 2);
}

/** The number of characters to insert, remove, replace or swap with their neighbour: optimal string alignment. */
function distance(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > 2) return Number.POSITIVE_INFINITY;
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const cost = one[i - 1] === other[j - 1] ? 0 : 1;
      let least = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + cost);
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (isSwapped) least = Math.min(least, rows[i - 2]![j - 2]! + 1);
      row.push(least);
    }
    rows.push(row);
  }
  return rows[one.length]![other.length]!;
}
