import { randomInt } from '../../base/random.js';

/**
 * Tags of messages: numbers that grow in the order in which messages are kept, whatever the stores lose.
 *
 * A tag is a time in ms, shifted by 11 bits that are random, so that two processes do not choose the same one. A store takes the
 * tag of the process that appends, or a later one if the message before has it already. A process takes no tag that is not
 * later than all that it has seen, and workers see those of each other. So a message that is kept after a loss has a later tag
 * than every message that was lost, also where the clocks of machines differ. It follows that
 *
 * - a reader that has read up to a tag has read everything with a lower one, in whatever state the store comes back, and
 * - two messages with one offset never have one tag.
 */
const UNIT = 2048;

/** The newest tag that a process has taken or seen; 0 before the first. */
export interface KnownTags {
  newest: number;
}

const own: KnownTags = { newest: 0 };
let known = (): KnownTags => own;

/** Lets each process of a simulation know its own, until the function that it returns is called. */
export function replaceTags(ofProcess: () => KnownTags): () => void {
  known = ofProcess;
  return () => {
    known = () => own;
  };
}

/** The first of successive tags for this many messages. */
export function takeTags(count: number): number {
  const tags = known();
  const first = Math.max(Date.now() * UNIT + randomInt(0, UNIT), tags.newest + 1);
  tags.newest = first + count - 1;
  return first;
}

/** A message with this tag exists: later ones get higher tags. */
export function seeTag(tag: number): void {
  const tags = known();
  if (tag > tags.newest) tags.newest = tag;
}

/** The newest tag that this process has taken or seen; 0 before the first. */
export const newestTag = (): number => known().newest;
