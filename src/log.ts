import { type Logger, type LoggerOptions, pino } from 'pino';
import type PinoPretty from 'pino-pretty';
import { optionalPackage } from './compat/optional-packages.js';

/**
 * Creates the log: one JSON object per line on the standard output, or readable lines if that is a
 * terminal and pino-pretty is installed. The fields are those of docs/operations.md, "Log".
 * @param level lowest level that is logged
 * @param origin which process writes it
 */
export function createLog(
  level: string,
  origin: { process: 'primary' } | { process: 'worker'; worker: number },
): Logger {
  const options: LoggerOptions = {
    level,
    base: { pid: process.pid, ...origin },
    formatters: { level: (label) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { error: shown },
  };
  const pretty = process.stdout.isTTY ? optionalPackage<typeof PinoPretty>('pino-pretty') : undefined;
  if (pretty) return pino(options, pretty({ sync: true, ignore: 'pid,process' }));
  // If the reader of the log stops reading, the server must not wait, and its buffer is bounded.
  return pino(options, pino.destination({ dest: 1, sync: false, maxLength: MAX_UNWRITTEN_BYTES }));
}

/** In bytes. Log lines beyond this are lost. */
const MAX_UNWRITTEN_BYTES = 1_000_000;

/**
 * The fields of an error that are logged. Other fields may contain secrets: an error of Redis has the failed command,
 * which may be the one with the password.
 */
function shown(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, cause } = error;
  const code = (error as NodeJS.ErrnoException).code;
  return { name, message, code, stack, ...(cause !== undefined && { cause: shown(cause) }) };
}

/**
 * Says that the start succeeded, and where the server listens: as text on a terminal, and as a line of the log elsewhere,
 * whatever `LOG_LEVEL` is.
 */
export function logGreeting(log: Logger, facts: object, greeting: string): void {
  if (process.stdout.isTTY) console.log(greeting);
  else log.child({}, { level: 'info' }).info(facts, greeting);
}
