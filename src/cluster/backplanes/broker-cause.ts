import type { Reason } from '../../base/problems.js';

/** What hubs, workers and stores connect with. */
export type Broker = 'Redis' | 'NATS';

/** What Redis says, up to version 5 without a code, and of a command within a script without one. */
const patterns: readonly (readonly [words: RegExp, meaning: Reason])[] = [
  [
    /WRONGPASS|invalid password|AUTH <password> called without/,
    { code: 'REDIS_UNAUTHORIZED', text: 'Redis rejects its user or password (WRONGPASS)' },
  ],
  [/NOAUTH/, { code: 'REDIS_UNAUTHORIZED', text: 'Redis requires a password, and none is set (NOAUTH)' }],
  [
    /max number of clients/,
    { code: 'REDIS_MAX_CLIENTS', text: 'Redis accepts no more connections (max number of clients)' },
  ],
  [
    /NOPERM|ACL failure in script|user executing the script can't/,
    { code: 'REDIS_COMMAND_REJECTED', text: 'Redis denies its user a key, channel or command (NOPERM)' },
  ],
  [/^SELECT \d+: /, { code: 'REDIS_COMMAND_REJECTED', text: 'Redis rejects the database number of its URL (SELECT)' }],
  [/No such master/, { code: 'REDIS_UNREACHABLE', text: 'Sentinel knows no master of the name in REDIS_URL' }],
  // Last, because it ends with what the last one has answered.
  [/All sentinels are unreachable/, { code: 'REDIS_UNREACHABLE', text: 'no Sentinel of Redis answers' }],
  [/Authorization Violation/i, { code: 'BUS_UNAUTHORIZED', text: 'NATS rejects its login (Authorization Violation)' }],
];

const COMMAND = /no permissions to run the '([\w|-]+)'/;

/** What an answer of Redis or NATS means for the operator; undefined if its words are not among the known ones. */
export function brokerCause(answer: string): Reason | undefined {
  const meaning = patterns.find(([words]) => words.test(answer))?.[1];
  const command = meaning?.code === 'REDIS_COMMAND_REJECTED' && COMMAND.exec(answer)?.[1];
  return command ? { ...meaning, text: `Redis rejects the command ${command.toUpperCase()} (NOPERM)` } : meaning;
}

/**
 * Why a broker does not serve this process, in public words.
 * @param answer its words, or those of the system
 * @param command what it rejects; undefined if that is the connection
 */
export function faultOf(broker: Broker, answer: string, command?: string): Reason {
  const prefix = broker === 'Redis' ? 'REDIS' : 'BUS';
  const cause = brokerCause(answer);
  if (!command) return cause ?? { code: `${prefix}_UNREACHABLE`, text: `${broker} is unreachable` };
  const word = cause ? ' (NOPERM)' : '';
  return { code: `${prefix}_COMMAND_REJECTED`, text: `${broker} rejects the command ${command}${word}` };
}

/** Whether the broker has rejected a connection, and not only one command on it. */
export function isConnectionRejected(answer: string): boolean {
  const cause = brokerCause(answer);
  return cause !== undefined && cause.code !== 'REDIS_COMMAND_REJECTED';
}

/** Why a connection failed. The client of a cluster has the answer of the node in another error. */
export function brokerReasonOf(error: Error & { lastNodeError?: Error }): string {
  const { lastNodeError } = error;
  return lastNodeError?.message || error.message || error.name;
}
