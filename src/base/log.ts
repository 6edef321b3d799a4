import fs from 'node:fs';
import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';
import type PinoPretty from 'pino-pretty';
import { replaceMethod } from './foreign-objects.private.js';
import { optionalPackage } from './optional-packages.js';

/** A line of the log, for the operator's page. */
export interface LoggedLine {
  /** The name of the level. */
  level: string;
  message: string;
  fields: object;
}

/**
 * Creates the log: one JSON object per line on the standard output. If that is a terminal and pino-pretty is installed, it
 * formats the lines for people. The fields are those of docs/operations.md, "Log".
 * @param level lowest level that is logged
 * @param origin which process writes it
 * @param onTrouble called with each line of the level `warn` or higher
 * @param to where the lines go instead, as JSON
 */
export function createLog(
  level: string,
  origin: { process: 'primary' } | { process: 'worker'; worker: number },
  onTrouble?: (line: LoggedLine) => void,
  to?: DestinationStream,
): Logger {
  const options: LoggerOptions = {
    level,
    base: { pid: process.pid, ...origin },
    formatters: { level: (label) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { error: shown },
    ...(onTrouble && { hooks: { logMethod: reporting(onTrouble) } }),
  };
  if (to) return pino(options, to);
  const pretty = process.stdout.isTTY ? optionalPackage<typeof PinoPretty>('pino-pretty') : undefined;
  if (pretty) return pino(options, pretty({ sync: true, ignore: 'pid,process' }));
  // If the reader of the log stops reading, the server must not wait, and its buffer is bounded. flush() needs a minLength.
  const output = pino.destination({ dest: 1, sync: false, minLength: 1, maxLength: MAX_UNWRITTEN_BYTES });
  const log = pino(options, output);
  outliveFailures(output, log);
  return log;
}

/** What became of the log of this process. */
class LogOutput {
  /** The number of lost lines. */
  dropped = 0;
  isFailing = false;
  private droppedAt = Number.NEGATIVE_INFINITY;

  drop(lines: number): void {
    this.dropped += lines;
    this.droppedAt = performance.now();
  }

  /** For /readyz: while the log cannot be written, and for some minutes after a line was lost. */
  get warning(): string | undefined {
    return this.isFailing || performance.now() - this.droppedAt < WARNING_MS ? UNWRITTEN : undefined;
  }
}

export const logOutput = new LogOutput();

/**
 * A log that cannot be written neither ends this process nor keeps it from ending. What a full disk or a closed pipe does
 * not take waits in the buffer.
 */
function outliveFailures(output: ReturnType<typeof pino.destination>, log: Logger): void {
  let willRetry = false;
  let reported = 0;
  // The listener of pino makes an uncaught exception of each error.
  output.removeAllListeners('error');
  output.on('error', () => {
    logOutput.isFailing = true;
    if (willRetry) return;
    willRetry = true;
    // Lines that find the buffer full cause no write.
    setTimeout(() => {
      willRetry = false;
      output.flush();
    }, RETRY_MS).unref();
  });
  output.on('drop', () => logOutput.drop(1));
  output.on('drain', () => {
    logOutput.isFailing = false;
    const dropped = logOutput.dropped - reported;
    reported = logOutput.dropped;
    if (dropped > 0) log.warn({ dropped }, 'lines of the log were lost');
  });
  giveUpAtEnd(output);
}

/**
 * flushSync(), which a fatal line and the end of the process call, repeats a write that fails. While the log cannot be
 * written, it would never return, and a worker would outlive its primary.
 */
function giveUpAtEnd(output: ReturnType<typeof pino.destination>): void {
  replaceMethod(output, 'flushSync', (_output, _args, flushSync) => {
    const putBack = replaceMethod(fs, 'writeSync', (_fs, values, writeSync) => {
      try {
        return writeSync(...values);
      } catch (error) {
        if (PASSING.has((error as NodeJS.ErrnoException).code)) throw error;
        const text = String(values[1]);
        logOutput.drop(text.split('\n').length - 1);
        return Buffer.byteLength(text);
      }
    });
    try {
      flushSync();
    } finally {
      putBack();
    }
  });
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
/** How long after a failed write the next one follows, in ms. A new line may cause one earlier. */
const RETRY_MS = 1000;
/** How long the warning stays after a line was lost. */
const WARNING_MS = 300_000;
const UNWRITTEN = 'the log cannot be written, or not fast enough: lines are lost';
/** Errors of a reader that is only slow. */
const PASSING: ReadonlySet<unknown> = new Set(['EAGAIN', 'EBUSY']);

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
