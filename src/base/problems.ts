/**
 * Every problem that gjallar reports, in one list. Each code has the same name in the log, in `/readyz`, in the metric
 * `gjallar_problem`, in the alerts of `deploy/`, on the admin page, and in docs/operations/alerts.md.
 */
interface ProblemKind {
  /** What the operator can do. */
  readonly remedy: string;
  /** Whether it needs attention although nothing is down. A warning does not make the server `degraded`. */
  readonly isWarning?: true;
}

/** Its type has the codes alone, so that declarations have no texts. */
const listed = <Code extends string>(problems: Readonly<Record<Code, ProblemKind>>) => problems;

/** All codes of problems, with their remedies. */
export const problemCodes = listed({
  REDIS_UNREACHABLE: {
    remedy:
      'Check that Redis runs and that REDIS_URL is right: gjallar doctor tries it. The server reconnects by itself.',
  },
  REDIS_UNAUTHORIZED: {
    remedy: 'Set the user and password of Redis in REDIS_URL, and restart the server: gjallar doctor tries it.',
  },
  REDIS_MAX_CLIENTS: {
    remedy:
      'Raise maxclients of Redis (and its limit of open files), or find the clients that hold connections: CLIENT LIST.',
  },
  REDIS_COMMAND_REJECTED: {
    remedy:
      'Grant the keys, channels and commands to the user of REDIS_URL; with SELECT, name a database that Redis has. The log line with this code has the error of Redis.',
  },
  REDIS_WRITES_REJECTED: {
    remedy:
      'Check the memory (maxmemory), the disk and the replication of Redis; with WRONGTYPE, which program has replaced the key. The log line with this code has the error of Redis.',
  },
  REDIS_READS_REJECTED: { remedy: 'Check Redis. The log line with this code has the error of Redis.' },
  REDIS_EVICTS: {
    remedy: 'Set maxmemory-policy noeviction in Redis. Otherwise it removes messages that were confirmed.',
  },
  BUS_UNREACHABLE: {
    remedy:
      'Check that NATS runs and that NATS_URL is right: gjallar doctor tries it. The server reconnects by itself.',
  },
  BUS_UNAUTHORIZED: {
    remedy:
      'Set the user and password, or the token, in NATS_URL, or the file of NATS_CREDS, and restart the server: gjallar doctor tries it.',
  },
  BUS_COMMAND_REJECTED: {
    remedy: 'Grant the subject to the user of NATS_URL. The log line with this code names the subject.',
  },
  HUB_ENDED: {
    remedy:
      'The primary starts the hub again by itself. If it ends repeatedly, the log of the primary says why: report the error.',
  },
  HUB_SILENT: {
    remedy:
      'Wait: the primary replaces the hub after 10 s. If it happens again, report it, with the log of the primary and the load of the machine.',
  },
  STORE_FAILS: {
    remedy:
      'Check the free space (df), the rights and the disk of DATA_DIR, or of the file of durable rooms. The log line with this code has the cause.',
  },
  HISTORY_UNREADABLE: { remedy: 'Check Redis or DATA_DIR. The log line with this code has the cause.' },
  HISTORY_LOST: {
    remedy:
      'Find out why. Redis: a restart without appendonly yes, a failover, a restored backup, or another Redis. DATA_DIR, or the file of durable rooms: it was restored, copied or removed. Then acknowledge the loss with POST /api/acknowledge-loss; otherwise this problem disappears after an hour.',
  },
  ARCHIVE_FAILS: {
    remedy:
      'Check the database of ARCHIVE_URL. Until it works again, messages wait in the history, for at most HISTORY_TTL.',
  },
  REVOCATIONS_LOST: {
    remedy:
      'Compare the list of GET /api/tokens/revocations with the revocations that you have made, and repeat the missing ones. With Redis, set appendonly yes.',
  },
  REVOCATIONS_UNAVAILABLE: {
    remedy:
      'Check Redis or DATA_DIR. Until they can be read, workers use the list that they read last. The log line with this code has the cause.',
  },
  NO_DESCRIPTORS: {
    remedy: 'Raise the limit of open files (ulimit -n, or LimitNOFILE of systemd), and restart; or add workers.',
  },
  OVERLOADED: {
    remedy:
      'Look at the rooms and clients that send the most. Lower RATE_LIMIT, disconnect them, or add workers or machines.',
  },
  WORKER_SILENT: {
    remedy:
      'Wait: the primary replaces a worker after 10 s. If it happens again, look for a long loop in the application.',
  },
  WORKERS_MISSING: {
    remedy: 'Read worker, signal and delay in the log. SIGKILL often comes from the kernel, when memory runs out.',
  },
  WORKERS_STARTING: {
    remedy:
      'Wait: before a worker listens, it waits for its application, and some seconds for Redis or NATS, each of which has a problem of its own if it is down. If it lasts, read the log of the application.',
  },
  NOT_LISTENING: {
    remedy:
      'Read the log of the application: it has not called listen(), or waits for something before it does, such as a database.',
  },
  SOCKETS_PORTABLE: {
    isWarning: true,
    remedy:
      'To have native sockets, install a binary of uWebSockets.js: the first lines of the log name the command. Portable sockets work, but more slowly.',
  },
  LOG_LOST: {
    isWarning: true,
    remedy:
      'Check the free space (df) and the quota where the standard output goes, or the program that reads it. The server continues, and writes lines again as soon as it can.',
  },
  RELOAD_ABORTED: {
    isWarning: true,
    remedy:
      'Read "reload aborted" in the log: it names the new worker that failed. Correct the release, and reload again.',
  },
  CLIENT_FLOODS: {
    isWarning: true,
    remedy:
      'The log line "a client was disconnected" names the address. Block it in front of the server, or lower RATE_LIMIT.',
  },
  BUFFERS_FULL: {
    isWarning: true,
    remedy:
      'The log line "a client was disconnected" names addresses. Block them in front of the server; lower MAX_PAYLOAD, MAX_BACKPRESSURE or MAX_CONNECTIONS_PER_IP, or raise MAX_BUFFERED.',
  },
  STATE_NEARLY_FULL: {
    isWarning: true,
    remedy: 'Delete keys of the state room that are not needed, or raise its limits: maxKeys and maxBytes.',
  },
  STATE_LOST: {
    isWarning: true,
    remedy:
      'Find out why Redis lost it: a restart without appendonly yes, a failover, FLUSHALL, or eviction. The servers write what they have again.',
  },
});

export type ProblemCode = keyof typeof problemCodes;

/** What is wrong: a code, and its text, which is public: the log alone has the words of servers and databases. */
export interface Reason {
  readonly code: ProblemCode;
  readonly text: string;
  /** Since when, in ms since 1970. @default since it is raised */
  readonly since?: number;
}

/** Something that is down at present, or needs attention. */
export interface Problem extends Required<Reason> {
  readonly remedy: string;
}

/** The same problem found in several places is one, since it was found first. */
export function distinct(problems: Iterable<Problem>): Problem[] {
  const found = new Map<string, Problem>();
  for (const one of problems) {
    const key = `${one.code}\n${one.text}`;
    const known = found.get(key);
    if (!known || one.since < known.since) found.set(key, one);
  }
  return [...found.values()];
}

/** The problems of a process. */
export class Problems {
  /** By whatever has raised it. */
  private readonly raised = new Map<unknown, Problem & { readonly end: number }>();

  /** @param prefix what the names of the variables for Redis and NATS begin with */
  constructor(
    private readonly prefix = '',
    private readonly now = () => performance.now(),
  ) {}

  /**
   * Raises a problem, in place of the one that its owner had.
   * @param owner what raises it, and clears it
   * @param ms how long it stays without being cleared
   */
  raise(owner: unknown, reason: Reason, ms = Number.POSITIVE_INFINITY): void {
    const known = this.raised.get(owner);
    const { code, text } = reason;
    const since = reason.since ?? (known?.text === text && known.end > this.now() ? known.since : Date.now());
    const remedy = problemCodes[code].remedy.replace(/\b(?:REDIS|NATS)_(?:URL|CREDS)\b/g, `${this.prefix}$&`);
    this.raised.set(owner, { code, text, remedy, since, end: this.now() + ms });
  }

  clear(owner: unknown): void {
    this.raised.delete(owner);
  }

  /** Raises or clears a problem that is looked for whenever it is asked for. Its owner is its code. */
  set(code: ProblemCode, text: string | undefined): void {
    if (text === undefined) this.clear(code);
    else this.raise(code, { code, text });
  }

  /** Raises these, and clears all others. */
  replace(reasons: readonly Reason[]): void {
    const texts = new Set(reasons.map(({ text }) => text));
    for (const owner of this.raised.keys()) if (!texts.has(owner as string)) this.clear(owner);
    for (const reason of reasons) this.raise(reason.text, reason);
  }

  /** What is down. */
  get down(): Problem[] {
    return this.present.filter(({ code }) => !problemCodes[code].isWarning);
  }

  /** What needs attention, although nothing is down. */
  get warnings(): Problem[] {
    return this.present.filter(({ code }) => problemCodes[code].isWarning);
  }

  private get present(): Problem[] {
    const all: Problem[] = [];
    for (const [owner, { end, ...problem }] of this.raised) {
      if (end > this.now()) all.push(problem);
      else this.raised.delete(owner);
    }
    return distinct(all);
  }
}
