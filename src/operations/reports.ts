import type { Warnings } from './warnings.js';

/** Where a part of a worker reports to the operator: the log, as pino takes it, and the health endpoints. */
export interface Reports {
  log: {
    error(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    info(fields: object, message: string): void;
  };
  /** What is down at present. */
  problems: Set<string>;
  /** What is not down, but needs attention. */
  warnings: Warnings;
}
