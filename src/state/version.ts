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
