import type { StoredMessage } from '../store.js';

/** Which messages to look for. */
export interface Search {
  /** Those of this author. */
  author: string;
  /** All those of conversations with such a name, by any author. */
  isOwn?(conversation: string): boolean;
}

/** A message of the archive. */
export type ArchivedMessage = StoredMessage & ArchivedPlace & { conversation: string };

/** A message by its place in the archive. */
export interface ArchivedPlace {
  log: number;
  offset: number;
}
