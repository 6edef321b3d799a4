/** How the attempt of a client to recover its session ends. All but the first one give the client a new session. */
export const outcomes = [
  'recovered',
  /** No worker has the session: it is too old, a bound has dropped it, or a killed worker alone had it. */
  'session unknown',
  /** The client's offset is malformed or too long. */
  'offset invalid',
  /** This worker did not receive in time what the client has received. */
  'worker behind',
  /** The client may lack a packet that is not kept: because of a bound, an outage, or a message without a number. */
  'packets missing',
  /** The session is in more rooms than a recovery may join. */
  'too many rooms',
  /** The client has missed more packets than a recovery may send. */
  'too much missed',
  /** All clients together have been sent as much as a worker replays in ten seconds. */
  'too much replayed',
  /** Too many recoveries are in progress on this worker, or of this session. */
  'too many recoveries',
] as const;

export type RecoveryOutcome = (typeof outcomes)[number];
export type RecoveryCounts = Record<RecoveryOutcome, number>;

/** Those in which a bound protects the worker. */
export const bounded: ReadonlySet<RecoveryOutcome> = new Set([
  'too many rooms',
  'too much missed',
  'too much replayed',
  'too many recoveries',
]);

export function noOutcomes(): RecoveryCounts {
  return Object.fromEntries(outcomes.map((outcome) => [outcome, 0])) as RecoveryCounts;
}

/** What the recovery of a worker keeps, and how it has ended since the start. */
export interface RecoveryState {
  /** Approximate memory of packets and of disconnected sessions, in bytes. */
  readonly bytes: { readonly packets: number; readonly sessions: number };
  readonly packets: number;
  readonly sessions: number;
  /** Packets and sessions dropped to stay within the bounds. */
  readonly dropped: { readonly packets: number; readonly sessions: number };
  readonly outcomes: RecoveryCounts;
}
