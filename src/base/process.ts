import { Problems } from './problems.js';

/** The log, as pino takes it. */
export interface Log {
  error(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  info(fields: object, message: string): void;
}

/** Where the parts of this process report to the operator. */
export interface Reports {
  readonly log: Log;
  readonly problems: Problems;
}

/** The library alone has no operator. The log of an application is its own. */
function libraryReports(): Reports {
  const warn = (given: object, message: string) => {
    const { code, error, ...fields } = given as Record<string, unknown>;
    const details = Object.entries(fields).map(([name, value]) => `${name}=${value}`);
    const text = details.length > 0 ? `${message} (${details.join(', ')})` : message;
    process.emitWarning(`gjallar: ${text}`, { type: 'gjallar', ...(typeof code === 'string' && { code }) });
  };
  return { log: { error: warn, warn, info: () => {} }, problems: new Problems() };
}

/** What the process that hosts the application does for its parts. */
export interface ProcessHost {
  reports: Reports;
  /** The Redis of the state rooms that name none, and the prefix of their keys; undefined if there is none. */
  stateStore: { readonly redisUrl: string | undefined; readonly keyPrefix: string } | undefined;
}

/** By default, the library alone. A worker sets it once, before its application starts. */
export const host: ProcessHost = { reports: libraryReports(), stateStore: undefined };
