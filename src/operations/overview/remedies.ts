/** Something that is down, and what the operator can do. */
export interface ProblemWithRemedy {
  readonly problem: string;
  readonly remedy: string;
}

/** What to do about each problem that /readyz can name. The first pattern that fits counts. */
const remedies: readonly (readonly [pattern: RegExp, remedy: string])[] = [
  [
    /has lost messages/,
    'Find out why: a restart without appendonly, a failover, a restored backup, or another Redis. Then acknowledge the loss with POST /api/acknowledge-loss; otherwise this problem disappears after an hour.',
  ],
  [
    /^Redis is unreachable/,
    'Check that Redis runs and that REDIS_URL is right: gjallar doctor tries it. The server reconnects by itself.',
  ],
  [
    /^NATS is unreachable/,
    'Check that NATS runs and that NATS_URL is right: gjallar doctor tries it. The server reconnects by itself.',
  ],
  [
    /^NATS rejects the command/,
    'Grant the subject to the user of NATS_URL. The log line with the same text names the subject.',
  ],
  [
    /^servers or emitters on this Redis use BUS=/,
    'Give all servers and emitters on this Redis the same BUS, or a REDIS_PREFIX of their own.',
  ],
  [
    /^servers on this Redis Cluster use createShardedAdapter/,
    'Use the same adapter on all servers of this Redis Cluster, or give these a REDIS_PREFIX of their own.',
  ],
  [
    /^Redis (rejects the user or password|requires a password)/,
    'Set the user and password of Redis in REDIS_URL, and restart the server: gjallar doctor tries it.',
  ],
  [
    /^Redis accepts no more connections/,
    'Raise maxclients of Redis (and its limit of open files), or find the clients that hold connections: CLIENT LIST.',
  ],
  [
    /^Redis denies/,
    'Grant the keys, channels and commands to the user of REDIS_URL. gjallar doctor names each one that is missing.',
  ],
  [
    /^Redis rejects the command/,
    'Grant the command to the user of REDIS_URL. gjallar doctor names every command and channel that is missing.',
  ],
  [
    /^Redis rejects writes/,
    'Check the memory (maxmemory), the disk and the replication of Redis. The log line with the same text has the error of Redis.',
  ],
  [
    /^Redis removes messages when its memory is full/,
    'Set maxmemory-policy noeviction in Redis. Otherwise it removes messages that were confirmed.',
  ],
  [/^Redis cannot be read/, 'Check Redis. The log line with the same text has the error of Redis.'],
  [
    /^DATA_DIR /,
    'Check the free space (df), the rights and the disk of DATA_DIR. The log line with the same text has the cause.',
  ],
  [/^the history cannot be read/, 'Check Redis or DATA_DIR. The log line with the same text has the cause.'],
  [
    /^the archive /,
    'Check the database of ARCHIVE_URL. Until it works again, messages wait in the history, for at most HISTORY_TTL.',
  ],
  [
    /^the list of revoked tokens was lost/,
    'Compare the list of GET /api/tokens/revocations with the latest revocations, and repeat the missing ones. Set appendonly yes in Redis.',
  ],
  [
    /^the revoked tokens /,
    'Check Redis or DATA_DIR. Until they can be read, workers use the list that they read last. The log line with the same text has the cause.',
  ],
  [
    /^the sockets are portable/,
    'To have native sockets, install a binary of uWebSockets.js: the first lines of the log name the command. Portable sockets work, but more slowly.',
  ],
  [
    /^the log cannot be written/,
    'Check the free space (df) and the quota where the standard output goes, or the program that reads it. The server continues, and writes lines again as soon as it can.',
  ],
  [
    /^the last reload was aborted/,
    'Read "reload aborted" in the log: it names the new worker that failed. Correct the release, and reload again.',
  ],
  [
    /far more than RATE_LIMIT/,
    'The log line "a client was disconnected" names the address. Block it in front of the server, or lower RATE_LIMIT.',
  ],
  [
    /^too many bytes waited for and from clients/,
    'The log line "a client was disconnected" names addresses. Block them in front of the server; lower MAX_PAYLOAD, MAX_BACKPRESSURE or MAX_CONNECTIONS_PER_IP, or raise MAX_BUFFERED.',
  ],
  [
    /file descriptors/,
    'Raise the limit of open files (ulimit -n, or LimitNOFILE of systemd), and restart; or add workers.',
  ],
  [
    /overloaded/,
    'Look at the rooms and clients that send the most. Lower RATE_LIMIT, disconnect them, or add workers or machines.',
  ],
  [
    /^worker \d+ does not respond/,
    'Wait: the primary replaces a worker after 10 s. If it happens again, look for a long loop in the application.',
  ],
  [
    /workers? (is|are) not running/,
    'Read worker, signal and delay in the log. SIGKILL often comes from the kernel, when memory runs out.',
  ],
];

const OTHER = 'Read the log line with the same text; it has the cause.';

export function withRemedy(problem: string): ProblemWithRemedy {
  return { problem, remedy: remedies.find(([pattern]) => pattern.test(problem))?.[1] ?? OTHER };
}

/** Whether a problem has a remedy of its own. */
export function hasRemedy(problem: string): boolean {
  return withRemedy(problem).remedy !== OTHER;
}
