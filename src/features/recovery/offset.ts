import { numberIn, SEPARATOR, VersionVector } from './version-vector.js';

/**
 * What a client has received, as the last argument of each kept packet. Clients send the offset of their last packet
 * when they reconnect.
 *
 * ```
 * g~<time>~<worker>.<direct>~<sender>.<number>~<sender>.<number>…      numbers in base 36
 * ```
 *
 * - `worker` delivered the packet, after `direct` packets that it had sent to single sockets.
 * - Of each `sender`, the worker had delivered all packets up to `number`. A sender that has been silent for a long time
 *   is left out.
 *
 * Every worker can thus tell what the client lacks, also when the one that delivered the packet is gone.
 */
export interface Offset {
  /** When the packet was sent, at the latest now, by the clock of `worker`. */
  readonly at: number;
  readonly worker: string;
  readonly direct: number;
  readonly senders: VersionVector;
}

const PREFIX = 'g';
/** Clients send offsets, so that their length must be bounded. */
export const MAX_LENGTH = 16_384;
/** More than the workers that a cluster with recovery has. */
const MAX_SENDERS = 512;
const NUMBER = /^[0-9a-z]{1,10}$/;
/** The time in an offset that no packet has. */
export const UNKNOWN_TIME = 0;

/** In place of the offset of a client that has received no event yet. */
export const NO_OFFSET = '';

export function encodeOffset(at: number, worker: string, direct: number, senders: VersionVector): string {
  return `${PREFIX}${SEPARATOR}${Math.floor(at).toString(36)}${SEPARATOR}${worker}.${direct.toString(36)}${senders}`;
}

/** Reads an offset. Returns undefined for any other text: clients take every last argument that is one for an offset. */
export function decodeOffset(text: string): Offset | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const [prefix, time = '', own = '', ...rest] = text.split(SEPARATOR, MAX_SENDERS + 4);
  const entry = numberIn(own);
  if (prefix !== PREFIX || !NUMBER.test(time) || !entry || rest.length > MAX_SENDERS) return undefined;
  const senders = new VersionVector();
  for (const one of rest) {
    const sender = numberIn(one);
    if (!sender || senders.knows(sender[0])) return undefined;
    senders.raise(...sender);
  }
  const [worker, direct] = entry;
  return { at: Number.parseInt(time, 36), worker, direct, senders };
}

/** The form of the ids and secrets that Socket.IO makes; the ids of gjallar name a worker before it. */
const RANDOM = /(^|\.)[\w-]{20}$/;

/** Whether a room may be the own room of a socket with an id that the server gave it, or a text the secret of a client. */
export function mayBeId(room: unknown): room is string {
  return typeof room === 'string' && RANDOM.test(room);
}

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
