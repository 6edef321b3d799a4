import fs from 'node:fs';
import { type Logger, type LoggerOptions, pino } from 'pino';
import type PinoPretty from 'pino-pretty';
import { optionalPackage } from './compat/optional-packages.js';
import { readableLine } from './log-lines.js';

/** A line of the log, for the operator's page. */
export interface LoggedLine {
  /** The name of the level. */
  level: string;
  message: string;
  fields: object;
}

/**
 * Creates the log: one JSON object per line on the standard output, or lines for people if that is a terminal, from
 * pino-pretty if it is installed. The fields are those of docs/operations.md, "Log".
 * @param level lowest level that is logged
 * @param origin which process writes it
 * @param onTrouble called with each line of the level `warn` or higher
 */
export function createLog(
  level: string,
  origin: { process: 'primary' } | { process: 'worker'; worker: number },
  onTrouble?: (line: LoggedLine) => void,
): Logger {
  const options: LoggerOptions = {
    level,
    base: { pid: process.pid, ...origin },
    formatters: { level: (label) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { error: shown },
    ...(onTrouble && { hooks: { logMethod: reporting(onTrouble) } }),
  };
  const pretty = process.stdout.isTTY ? optionalPackage<typeof PinoPretty>('pino-pretty') : undefined;
  if (pretty) return pino(options, pretty({ sync: true, ignore: 'pid,process' }));
  if (process.stdout.isTTY) return pino(options, { write: (line) => void process.stdout.write(readableLine(line)) });
  // If the reader of the log stops reading, the server must not wait, and its buffer is bounded.
  const output = pino.destination({ dest: 1, sync: false, maxLength: MAX_UNWRITTEN_BYTES });
  giveUpWithoutReader(output);
  return pino(options, output);
}

/**
 * flushSync(), which a fatal line and the end of the process call, repeats a write that fails. If the reader of the log is
 * gone, it would never return, and a worker would outlive its primary.
 */
function giveUpWithoutReader(output: ReturnType<typeof pino.destination>): void {
  const flushSync = output.flushSync.bind(output);
  output.flushSync = () => {
    const { writeSync } = fs;
    fs.writeSync = ((...values: Parameters<typeof writeSync>) => {
      try {
        return writeSync(...values);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
        return Buffer.byteLength(values[1] as unknown as string);
      }
    }) as typeof writeSync;
    try {
      flushSync();
    } finally {
      fs.writeSync = writeSync;
    }
  };
}

type LogMethod = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>;

function reporting(onTrouble: (line: LoggedLine) => void): LogMethod {
  return function (values, method, level) {
    if (level >= pino.levels.values.warn!) {
      const [first, text] = values as readonly unknown[];
      const isText = typeof first === 'string';
      const line = { message: String(isText ? first : text), fields: isText ? {} : (first as object) };
      onTrouble({ level: pino.levels.labels[level] ?? String(level), ...line });
    }
    method.apply(this, values);
  };
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
