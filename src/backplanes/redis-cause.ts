/** Why Redis answers, but does not serve this user. */
export interface RedisCause {
  /** The word by which operators find it in the documentation of Redis. */
  readonly code: 'WRONGPASS' | 'NOAUTH' | 'NOPERM' | 'max number of clients';
  /** The beginning of a problem, in public words. */
  readonly text: string;
}

/** What Redis says, up to version 5 without a code, and of a command within a script without one. */
const patterns: readonly (readonly [RegExp, (found: RegExpExecArray) => RedisCause])[] = [
  [
    /WRONGPASS|invalid password|AUTH <password> called without/,
    () => ({ code: 'WRONGPASS', text: 'Redis rejects the user or password of REDIS_URL (WRONGPASS)' }),
  ],
  [/NOAUTH/, () => ({ code: 'NOAUTH', text: 'Redis requires a password, and REDIS_URL has none (NOAUTH)' })],
  [
    /max number of clients/,
    () => ({
      code: 'max number of clients',
      text: 'Redis accepts no more connections (max number of clients)',
    }),
  ],
  [
    /(?:NOPERM|ACL failure in script|user executing the script can't)(?:.*no permissions to run the '([\w|-]+)')?/,
    ([, command]) => ({
      code: 'NOPERM',
      text: command
        ? `Redis rejects the command ${command.toUpperCase()} (NOPERM)`
        : 'Redis denies its user a key, channel or command (NOPERM)',
    }),
  ],
];

/** What an answer of Redis means for the operator; undefined if its words are not among the known ones. */
export function redisCause(reason: string): RedisCause | undefined {
  for (const [pattern, cause] of patterns) {
    const found = pattern.exec(reason);
    if (found) return cause(found);
  }
  return undefined;
}

/** Whether Redis has rejected a connection, and not only one command on it. */
export function isConnectionRejected(reason: string): boolean {
  const code = redisCause(reason)?.code;
  return code !== undefined && code !== 'NOPERM';
}

/** Why a connection failed. The client of a cluster has the answer of the node in another error. */
export function reasonOf(error: Error & { lastNodeError?: Error }): string {
  const { lastNodeError } = error;
  return lastNodeError?.message || error.message || error.name;
}
