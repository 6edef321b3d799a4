import { GjallarError } from './errors.js';
import type { Problems } from './problems.js';

/** The log, as pino takes it. */
export interface Log {
  error(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  info(fields: object, message: string): void;
}

/** The part of a request that a report of its rejection has. */
export interface RejectedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: { readonly origin?: string | undefined };
  readonly connection: { readonly remoteAddress: string };
}

/** Where a malformed message came from: the backplane, a part of the links between workers, state rooms, or the application. */
export type MalformedSource = 'bus' | 'relay' | 'mesh' | 'state' | 'application';

/** Where the parts of this process report to the operator. */
export interface Reports {
  readonly log: Log;
  readonly problems: Pick<Problems, 'raise' | 'clear'>;
  /** A message from another worker or machine was dropped because it is malformed. */
  malformed(source: MalformedSource, reason: string): void;
  /**
   * A client or a request was rejected.
   * @param code one of a fixed list, because it is a label of a metric
   * @param request the rejected request, or the one of the session's handshake
   * @param details further fields of the log line, such as the user
   */
  rejected(code: string, request: RejectedRequest | undefined, details?: object): void;
  /** A limit has ended a connection, which is counted among the closed ones. */
  disconnected(code: string, request: RejectedRequest | undefined, details: object): void;
}

/** A line of the log as an error, for an application. */
interface ReportedError extends Error {
  code?: string;
}

function errorOf(given: object, message: string): ReportedError {
  const { code, error, ...fields } = given as Record<string, unknown>;
  const details = Object.entries(fields).map(([name, value]) => `${name}=${value}`);
  const text = details.length > 0 ? `${message} (${details.join(', ')})` : message;
  const cause = error === undefined ? undefined : { cause: error };
  return Object.assign(new Error(text, cause), typeof code === 'string' && { code });
}

/** The library alone has no operator. The log of an application is its own. */
function libraryReports(): Reports {
  const warn = (given: object, message: string) => {
    const { message: text, code } = errorOf(given, message);
    process.emitWarning(text, { type: 'gjallar', ...(code !== undefined && { code }) });
  };
  const ignore = () => {};
  return {
    log: { error: warn, warn, info: ignore },
    problems: { raise: ignore, clear: ignore },
    malformed: ignore,
    rejected: ignore,
    disconnected: ignore,
  };
}

/**
 * What the process that hosts the application does for its parts. A part declares here what it takes from the process, with
 * `declare module`, so that nothing below knows what is above.
 */
export interface ProcessHost {
  reports: Reports;
  /** The Redis of the state rooms that name none, and the prefix of their keys. */
  stateStore?: { readonly redisUrl: string | undefined; readonly keyPrefix: string };
}

/** In the library alone, nothing but these reports. */
export const thisProcess: ProcessHost = { reports: libraryReports() };
const alone = thisProcess.reports;

/**
 * The reports of a part whose application takes its errors. An operator gets them as well; in the library alone, they are no
 * warnings then.
 */
export function reportsTo(onError: (error: ReportedError) => void): Pick<Reports, 'log' | 'problems'> {
  const { reports } = thisProcess;
  const to = (level: 'error' | 'warn') => (fields: object, message: string) => {
    if (reports !== alone) reports.log[level](fields, message);
    onError(errorOf(fields, message));
  };
  const { log, problems } = reports;
  return { log: { error: to('error'), warn: to('warn'), info: (...line) => log.info(...line) }, problems };
}

/** Where other copies of gjallar in this process find the one that hosts the application. */
const HOST = Symbol.for('gjallar.host');
const shared = process as { [HOST]?: ProcessHost };

/** Makes this process one that hosts an application. Call it before the application starts. */
export function hostApplication(host: Partial<ProcessHost>): void {
  shared[HOST] = Object.assign(thisProcess, host);
}

/**
 * The servers of a second copy would not know that they run on a worker, and answer "Session ID unknown".
 * @throws GjallarError BAD_CONFIG if another copy hosts the application
 */
export function checkCopy(): void {
  if ((shared[HOST] ?? thisProcess) === thisProcess) return;
  throw new GjallarError(
    'BAD_CONFIG',
    'the application has a copy of gjallar of its own, which cannot share clients with other workers. If a bundler made ' +
      'it, exclude gjallar and socket.io from the bundle (esbuild: --packages=external; webpack: externals), and start it again',
  );
}
