import type { Logger } from 'pino';
import { GjallarError } from '../../base/errors.js';
import type { Readings } from '../../base/figures.js';
import { Problems } from '../../base/problems.js';
import type { MalformedSource, RejectedRequest, Reports } from '../../base/process.js';
import { Seldom } from '../../base/warnings.js';
import type { RecentEvents } from './overview/recent-events.js';

/** At most one log line per rejection and code, and one about malformed messages, in this time, in ms. */
const REJECTION_LOG_MS = 10_000;
const MALFORMED_LOG_MS = 60_000;
/** Clients choose these texts, so the log gets only their beginning. */
const MAX_LOGGED_CHARACTERS = 200;

/** Counts and logs what the parts of a worker report to the operator. */
export class WorkerReports implements Reports {
  readonly problems: Problems;
  private readonly rejectedBy = new Map<string, number>();
  private readonly malformedBy = new Map<MalformedSource, number>([['bus', 0]]);
  private readonly rejectionLines = new Seldom(REJECTION_LOG_MS);
  private readonly malformedLines = new Seldom(MALFORMED_LOG_MS);

  /** @param prefix what the names of the variables for Redis and NATS begin with */
  constructor(
    readonly log: Pick<Logger, 'error' | 'warn' | 'info'>,
    private readonly recent: Pick<RecentEvents, 'add'>,
    prefix?: string,
  ) {
    this.problems = new Problems(prefix);
  }

  rejected(code: string, request: RejectedRequest | undefined, details: object = {}): void {
    this.rejectedBy.set(code, (this.rejectedBy.get(code) ?? 0) + 1);
    this.write('a client was rejected', code, request, details);
  }

  disconnected(code: string, request: RejectedRequest | undefined, details: object): void {
    this.write('a client was disconnected', code, request, details);
  }

  malformed(source: MalformedSource, reason: string): void {
    this.malformedBy.set(source, (this.malformedBy.get(source) ?? 0) + 1);
    const dropped = this.malformedLines.due();
    if (dropped === undefined) return;
    this.log.warn({ source, reason, dropped }, 'malformed messages from other servers were dropped');
  }

  private write(message: string, code: string, request: RejectedRequest | undefined, details: object): void {
    this.recent.add('info', message, () => ({ ...fieldsOf(request), ...details }), code);
    const count = this.rejectionLines.due(`${message} ${code}`);
    if (count !== undefined) this.log.info({ code, ...fieldsOf(request), ...details, count }, message);
  }

  readonly readings = (): Readings => ({
    gjallar_bus_malformed_total: this.malformedBy,
    gjallar_clients_refused_total: this.rejectedBy,
  });
}

/** What the log says of a request. The query may contain a token, so it is left out. */
export function fieldsOf(request: RejectedRequest | undefined): object {
  if (!request) return {};
  const { origin } = request.headers;
  return {
    address: request.connection.remoteAddress,
    ...(origin !== undefined && { origin: origin.slice(0, MAX_LOGGED_CHARACTERS) }),
    method: request.method,
    path: request.url.split('?', 1)[0]!.slice(0, MAX_LOGGED_CHARACTERS),
  };
}

/** The caller of an action. */
export interface Caller {
  /** The name of the operator's account. */
  operator: string;
  /** The address that the request came from. */
  address: string | undefined;
}

/**
 * Carries out an action of the operator, and logs one line about it, whatever `LOG_LEVEL` is.
 * @param target what the action is about
 * @param work resolves with the result
 */
export async function audited<Result extends object>(
  log: Logger,
  caller: Caller,
  action: string,
  target: object,
  work: () => Promise<Result> | Result,
): Promise<Result> {
  const write = (result: object) => {
    log.child({}, { level: 'info' }).info({ ...caller, action, target, result }, 'the operator acted');
  };
  try {
    const result = await work();
    write(result);
    return result;
  } catch (error) {
    write({ code: error instanceof GjallarError ? error.code : 'INTERNAL' });
    throw error;
  }
}
