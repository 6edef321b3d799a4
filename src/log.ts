import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

/**
 * The log: one JSON object a line on the standard output, or a line for people where that is a terminal.
 * @param level least level that is logged
 */
export function createLog(level: string, bindings: Record<string, unknown>): Logger {
  const options = { level, base: { pid: process.pid, ...bindings }, serializers: { error: shown } };
  if (process.stdout.isTTY) return pino(options, pretty({ sync: true, ignore: 'pid,hostname' }));
  // Who reads the log may stop to read it. Then the server must not wait, and keeps no more than this.
  return pino(options, pino.destination({ dest: 1, sync: false, maxLength: MOST_UNWRITTEN }));
}

/** In bytes; what is logged beyond is lost. */
const MOST_UNWRITTEN = 1_000_000;

/**
 * What the log tells of an error. Not whatever else it carries: Redis's has the command that failed, which may be the
 * one with the password.
 */
function shown(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, cause } = error;
  const code = (error as NodeJS.ErrnoException).code;
  return { name, message, code, stack, ...(cause !== undefined && { cause: shown(cause) }) };
}
