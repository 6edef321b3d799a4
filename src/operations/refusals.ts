import type { EngineRequest } from '../engine/http/request.js';
import type { Metric } from './metrics/metric.js';
import type { RecentEvents } from './overview/recent-events.js';

interface Log {
  info(fields: object, message: string): void;
}

/** At most one log line per code in this time, in ms. */
const LOG_INTERVAL_MS = 10_000;
/** Clients choose these texts, so the log gets only their beginning. */
const MAX_LOGGED_CHARACTERS = 200;

/** Counts rejected clients and requests by error code, and logs the first one of each code in ten seconds. */
export class Refusals {
  /** All rejected clients and requests since the start. */
  total = 0;
  private readonly counts = new Map<string, number>();
  /** By code and message. */
  private readonly logged = new Map<string, { count: number; at: number }>();

  constructor(
    private readonly log: Log,
    private readonly recent: Pick<RecentEvents, 'add'>,
    private readonly now = () => performance.now(),
  ) {}

  /**
   * @param code one of a fixed list, because it is a label of a metric
   * @param request the rejected request, or the one of the session's handshake
   * @param details further fields of the log line, such as the user
   */
  note(code: string, request: EngineRequest | undefined, details: object = {}): void {
    this.total++;
    this.counts.set(code, (this.counts.get(code) ?? 0) + 1);
    this.write('a client was rejected', code, request, details);
  }

  /** A limit has ended a connection, which is counted among the closed ones. */
  disconnected(code: string, request: EngineRequest | undefined, details: object): void {
    this.write('a client was disconnected', code, request, details);
  }

  private write(message: string, code: string, request: EngineRequest | undefined, details: object): void {
    this.recent.add('info', message, () => ({ ...fieldsOf(request), ...details }), code);
    const now = this.now();
    const key = `${message} ${code}`;
    const latest = this.logged.get(key) ?? { count: 0, at: Number.NEGATIVE_INFINITY };
    latest.count++;
    this.logged.set(key, latest);
    if (now - latest.at < LOG_INTERVAL_MS) return;
    this.log.info({ code, ...fieldsOf(request), ...details, count: latest.count }, message);
    latest.count = 0;
    latest.at = now;
  }

  metrics(): Metric[] {
    return [
      {
        name: 'gjallar_clients_refused_total',
        type: 'counter',
        help: 'Rejected clients and requests, over all interfaces, by error code.',
        labels: ['code'],
        read: () => this.counts,
      },
    ];
  }
}

/** What the log says of a request. The query may contain a token, so it is left out. */
export function fieldsOf(request: EngineRequest | undefined): object {
  if (!request) return {};
  const { origin } = request.headers;
  return {
    address: request.connection.remoteAddress,
    ...(origin !== undefined && { origin: origin.slice(0, MAX_LOGGED_CHARACTERS) }),
    method: request.method,
    path: request.url.split('?', 1)[0]!.slice(0, MAX_LOGGED_CHARACTERS),
  };
}
