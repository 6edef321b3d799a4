import { createHash, randomBytes } from 'node:crypto';

/** The name of a new log: random, so that no two logs ever share one. */
export const freshEpoch = (): string => randomBytes(9).toString('base64url');

/**
 * The epoch that a conversation's first message will have. It follows from the store's seed, so that all readers agree on
 * it although nothing is written for a conversation without messages.
 */
export const epochFrom = (seed: string, conversation: string): string =>
  createHash('sha256').update(`${seed} ${conversation}`).digest('base64url').slice(0, 12);
