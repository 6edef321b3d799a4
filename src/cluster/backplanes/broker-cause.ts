import type { Reason } from '../../base/problems.js';

/** Why Redis or NATS answers, but does not serve this user: the beginning of a problem. */
export interface BrokerCause extends Reason {
  /** The word by which operators find it in the documentation of the broker. */
  readonly word: 'WRONGPASS' | 'NOAUTH' | 'NOPERM' | 'max number of clients' | 'Authorization Violation';
}

/** What Redis says, up to version 5 without a code, and of a command within a script without one. */
const patterns: readonly (readonly [RegExp, (found: RegExpExecArray) => BrokerCause])[] = [
  [
    /WRONGPASS|invalid password|AUTH <password> called without/,
    () => ({
      code: 'REDIS_UNAUTHORIZED',
      word: 'WRONGPASS',
      text: 'Redis rejects the user or password of REDIS_URL (WRONGPASS)',
    }),
  ],
  [
    /NOAUTH/,
    () => ({
      code: 'REDIS_UNAUTHORIZED',
      word: 'NOAUTH',
      text: 'Redis requires a password, and REDIS_URL has none (NOAUTH)',
    }),
  ],
  [
    /max number of clients/,
    () => ({
      code: 'REDIS_MAX_CLIENTS',
      word: 'max number of clients',
      text: 'Redis accepts no more connections (max number of clients)',
    }),
  ],
  [
    /(?:NOPERM|ACL failure in script|user executing the script can't)(?:.*no permissions to run the '([\w|-]+)')?/,
    ([, command]) => ({
      code: 'REDIS_COMMAND_REJECTED',
      word: 'NOPERM',
      text: command
        ? `Redis rejects the command ${command.toUpperCase()} (NOPERM)`
        : 'Redis denies its user a key, channel or command (NOPERM)',
    }),
  ],
  [
    /Authorization Violation/i,
    () => ({
      code: 'BUS_UNAUTHORIZED',
      word: 'Authorization Violation',
      text: 'NATS rejects the login of NATS_URL or NATS_CREDS (Authorization Violation)',
    }),
  ],
];

/** What an answer of Redis or NATS means for the operator; undefined if its words are not among the known ones. */
export function brokerCause(reason: string): BrokerCause | undefined {
  for (const [pattern, cause] of patterns) {
    const found = pattern.exec(reason);
    if (found) return cause(found);
  }
  return undefined;
}

/** Whether the broker has rejected a connection, and not only one command on it. */
export function isConnectionRejected(reason: string): boolean {
  const word = brokerCause(reason)?.word;
  return word !== undefined && word !== 'NOPERM';
}

/** Why a connection failed. The client of a cluster has the answer of the node in another error. */
export function reasonOf(error: Error & { lastNodeError?: Error }): string {
  const { lastNodeError } = error;
  return lastNodeError?.message || error.message || error.name;
}
