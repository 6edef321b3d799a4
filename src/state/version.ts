import { randomBytes } from 'node:crypto';

/** The epoch of a room that has none yet, greater than every other one. No client can continue from it. */
export const NO_EPOCH = '~';

/** Names one life of a room. Of two that meet, the smaller one stays: the older one, whose versions more clients have. */
export function newEpoch(timeMs = Date.now()): string {
  return timeMs.toString(36) + randomBytes(4).toString('base64url');
}

/**
 * What a client has, in the words that every worker understands:
 *
 *     <epoch>.<complete>.<latest>[.<node>.<own>]
 *
 * `epoch` names one life of the room. The client has everything that was changed up to the time `complete`, and nothing
 * that was changed after `latest`, both on the hybrid clock and in base 36. Between the two it may have some. `node` is the
 * worker that wrote the version, if there are several, and `own` the time of the latest change that it has made itself:
 * if that worker is killed, the client may have seen what no other worker has received.
 */
export interface ClientVersion {
  epoch: string;
  complete: number;
  latest: number;
  writer?: { node: string; own: number };
}

const FORM =
  /^([A-Za-z0-9_-]{1,32})\.([0-9a-z]{1,11})\.([0-9a-z]{1,11})(?:\.([A-Za-z0-9_-]{1,32})\.([0-9a-z]{1,11}))?$/;

export function encodeVersion({ epoch, complete, latest, writer }: ClientVersion): string {
  const text = `${epoch}.${complete.toString(36)}.${latest.toString(36)}`;
  return writer ? `${text}.${writer.node}.${writer.own.toString(36)}` : text;
}

/** Undefined for anything that no worker has written: the client then gets a snapshot. */
export function parseVersion(text: unknown): ClientVersion | undefined {
  const found = typeof text === 'string' ? FORM.exec(text) : null;
  if (!found) return undefined;
  const [, epoch, complete, latest, node, own] = found as unknown as [string, string, string, string, string?, string?];
  const version = { epoch, complete: Number.parseInt(complete, 36), latest: Number.parseInt(latest, 36) };
  return node && own ? { ...version, writer: { node, own: Number.parseInt(own, 36) } } : version;
}

const MAX_CHECKPOINTS = 256;

/**
 * Knows for a number in this worker's order of changes up to what time a reader at it is complete. Older numbers are known
 * more and more coarsely: such a reader continues from a little earlier.
 */
export class Checkpoints {
  private list: { readonly seq: number; readonly complete: number }[] = [];

  /** Everything that was changed up to the time `complete` has a number up to `seq`. */
  add(seq: number, complete: number): void {
    const last = this.list.at(-1);
    if (last && complete <= last.complete) return;
    if (last?.seq === seq) this.list.pop();
    this.list.push({ seq, complete });
    if (this.list.length > MAX_CHECKPOINTS) this.list = this.list.filter((_, index) => index % 2 === 0);
  }

  /** Undefined if the number is older than all that is known. */
  completeAt(seq: number): number | undefined {
    return this.list.findLast((checkpoint) => checkpoint.seq <= seq)?.complete;
  }
}

/** Units of the clock in a millisecond. The rest of a 53-bit integer holds the milliseconds until the year 2039. */
export const UNITS_PER_MS = 4096;

/** How exactly the fraction of a millisecond must be known, and how often it is looked for. */
const MAX_UNCERTAIN_MS = 0.05;
const MAX_ATTEMPTS = 5;

export function isTick(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/**
 * The time of day in ms with fractions. Date.now() has none: a client could set a key on one worker after another has
 * answered its deletion, in the same millisecond, and the set would be the older of the two.
 */
export function preciseTime(clocks: Clocks = systemClocks): () => number {
  let offset = offsetOfClock(clocks);
  return () => {
    const earliest = clocks.precise() + offset;
    const ms = clocks.day();
    const latest = clocks.precise() + offset;
    // The clock was set, or runs at another speed. If the process had to wait between the readings, that proves nothing.
    if (latest < ms) offset += ms - latest;
    else if (earliest > ms + 1) offset -= earliest - ms - 1;
    return Math.max(ms, Math.min(earliest, ms + 1));
  };
}

interface Clocks {
  /** The time of day in whole ms. */
  day(): number;
  /** Time in ms with fractions, since any moment. */
  precise(): number;
}

const systemClocks: Clocks = { day: () => Date.now(), precise: () => performance.now() };

/** What to add to the precise clock. The fraction is known at the moment in which the time of day moves on. */
function offsetOfClock({ day, precise }: Clocks): number {
  let best = { offset: 0, uncertain: Number.POSITIVE_INFINITY };
  for (let attempt = 0; attempt < MAX_ATTEMPTS && best.uncertain > MAX_UNCERTAIN_MS; attempt++) {
    let before = precise();
    const begun = day();
    let next = precise();
    let now = day();
    for (; now === begun; now = day()) [before, next] = [next, precise()];
    // Longer if the process had to wait just then.
    const uncertain = precise() - before;
    if (uncertain < best.uncertain) best = { offset: now - before, uncertain };
  }
  return best.offset;
}

let ofProcess: (() => number) | undefined;

/** One for all namespaces: finding the fraction takes a millisecond. */
function timeOfProcess(): () => number {
  ofProcess ??= preciseTime();
  return ofProcess;
}

/**
 * A hybrid logical clock: the time of day, but each tick is later than every tick that this worker has made or heard of.
 * Ticks of different workers can be equal; the worker's id then decides.
 */
export class HybridClock {
  private last = 0;

  /** @param timeMs the time of day in ms, which may jump backwards */
  constructor(private readonly timeMs: () => number = timeOfProcess()) {}

  /** The next tick. */
  tick(): number {
    this.last = Math.max(this.last + 1, Math.floor(this.timeMs() * UNITS_PER_MS));
    return this.last;
  }

  /** Another worker has made this tick. */
  heard(tick: number): void {
    if (tick > this.last) this.last = tick;
  }
}
