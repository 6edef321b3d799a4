import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

/**
 * The log: one JSON object a line on the standard output, or a line for people where that is a terminal.
 * @param level least level that is logged
 */
export function createLog(level: string, bindings: Record<string, unknown>): Logger {
  const options = { level, base: { pid: process.pid, ...bindings } };
  return process.stdout.isTTY ? pino(options, pretty({ sync: true, ignore: 'pid,hostname' })) : pino(options);
}
