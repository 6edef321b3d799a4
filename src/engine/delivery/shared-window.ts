import { Outbox } from './outbox.js';

/** The window that messages to other workers share with those to sockets. */
export type SharedWindow = Pick<Outbox, 'share'>;

/** The longest window without an outbox, in ms. */
const LONGEST_MS = 25;

/**
 * A window for messages to other workers alone.
 * @param longestMs the longest time that a message is held
 */
export function ownWindow(longestMs = LONGEST_MS): SharedWindow {
  return new Outbox({ publish: () => false, numSubscribers: () => 0 }, longestMs);
}
