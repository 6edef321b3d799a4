import type { FormerEpoch, Position } from '../store.js';

/** How far a reader has come. */
export interface Reader extends Position {
  /** How far it had come in earlier epochs, newest first. */
  readonly earlier: readonly Position[];
}

/** What a page says about a log: its newest position, and the first message that follows the reader's position. */
export interface LogView extends Position {
  readonly former?: readonly FormerEpoch[];
  /** The offset of the page's first message beyond the reader's position; undefined if there is none. */
  readonly next: number | undefined;
}

/**
 * - `same`: the log that the reader knows, with all that follows its position
 * - `behind`: the log that the reader knows, but it ends before its position. It is read from a replica that is late.
 * - `trimmed`: the log that the reader knows; some messages after its position are gone
 * - `continued`: a new epoch that has everything that the reader has read, and all that followed
 * - `uncertain`: a new epoch that has everything that the reader has read; some that followed may be lost
 * - `lost`: a new epoch that lacks messages that the reader has read
 * - `other`: a new epoch of a log in which the reader has read nothing
 */
export type Finding = 'same' | 'behind' | 'trimmed' | 'continued' | 'uncertain' | 'lost' | 'other';

export interface Continuation {
  finding: Finding;
  /** The position in the log's present epoch after which the reader goes on. */
  after: number;
}

/**
 * Where a reader that delivers messages as they come goes on in a log. It must miss no message that was posted since, and
 * must deliver no message from before as a new one:
 *
 *     epoch   the log compared with the reader's position                  finding     goes on after
 *     same    ends before it                                               behind      its position
 *     same    ends at it, or the page begins with the next message         same        its position
 *     same    goes on, and the page begins later, or is empty              trimmed     the message before the page, or the end
 *     new     continues an epoch that the reader knows, up to its position continued   its position
 *     new     the same, but the store may have lost the end of that epoch  uncertain   its position
 *     new     continues one that the reader knows, but not so far          lost        the end of the part they share
     new     is, or continues, one that the reader knew before its own    lost        the end of the part they share
 *     new     continues none that the reader knows                         lost        what the epoch has inherited
 *
 * What a page of a new epoch contains does not matter: the reader reads it again from where it goes on.
 *
 * @param announced messages that were announced as new. What the epoch has inherited begins before them at the latest.
 */
export function continueLog(reader: Reader, log: LogView, announced: readonly Position[] = []): Continuation {
  if (log.epoch === reader.epoch) return inSameEpoch(reader, log);
  const { former = [] } = log;
  let kept = true;
  // The epoch itself may be one that the reader knows: the right data is back.
  for (const { epoch, offset, ...end } of [{ ...log, kept }, ...former]) {
    kept &&= end.kept;
    if (epoch === reader.epoch) {
      if (offset < reader.offset) return { finding: 'lost', after: offset };
      return { finding: kept ? 'continued' : 'uncertain', after: reader.offset };
    }
    const earlier = reader.earlier.find((one) => one.epoch === epoch);
    // The epoch that the reader was in last is not part of the log.
    if (earlier) return { finding: findingFor(reader), after: Math.min(earlier.offset, offset) };
  }
  let after = former[0]?.offset ?? 0;
  for (const { epoch, offset } of announced) {
    const isKnown = epoch === log.epoch || former.some((one) => one.epoch === epoch && offset <= one.offset);
    if (isKnown) after = Math.min(after, offset - 1);
  }
  return { finding: findingFor(reader), after };
}

function inSameEpoch({ offset }: Reader, log: LogView): Continuation {
  if (log.offset < offset) return { finding: 'behind', after: offset };
  const first = log.next ?? log.offset + 1;
  return first > offset + 1 ? { finding: 'trimmed', after: first - 1 } : { finding: 'same', after: offset };
}

const findingFor = ({ offset }: Reader): Finding => (offset > 0 ? 'lost' : 'other');

/** How many earlier epochs a reader remembers. */
const MAX_EARLIER = 16;

/** The reader's memory once it has gone on in a new epoch. */
export function remember(reader: Reader, former: readonly FormerEpoch[], after: number): Position[] {
  const present = { epoch: reader.epoch, offset: reader.offset };
  const inherited = former.map(({ epoch, offset }) => ({ epoch, offset: Math.min(offset, after) }));
  const all = new Map<string, Position>();
  // What the reader has read itself counts before what the log says.
  for (const one of [present, ...reader.earlier, ...inherited]) if (!all.has(one.epoch)) all.set(one.epoch, one);
  return [...all.values()].slice(0, MAX_EARLIER);
}
