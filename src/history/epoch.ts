import { randomBytes } from 'node:crypto';

/** The name of a new log: random, so that no two logs ever share one. */
export const freshEpoch = (): string => randomBytes(9).toString('base64url');
