import { MalformedMessage } from '../../../base/errors.js';
import type { LinkAnswer, LinkQuestion } from '../../hub-link.js';
import type { Entries, KeyChange } from '../entries.js';
import { isTick } from '../version.js';
import type { StoreAddress } from './store/address.js';

/**
 * What workers and the sequencer of their machine say to each other, and what sequencers of different machines do.
 *
 * ```
 * worker                            sequencer
 *   open {quotes, epoch, number} →
 *                                 ← pull {after}            if it lacks what the worker has: it has started again
 *   page {changes, next} →
 *                                 ← page {epoch, changes, next}
 *   pull {after: next} →          ← page {…}                and from here on, each change:
 *   changes {last: 7} →           ← changes {acked: 7}
 *   patch {number: 8} →           ← changes {acked: 8}, reply
 * ```
 */
export type ToSequencer = { readonly room: string } & (
  | {
      readonly type: 'open';
      /** Names the worker: the owner of keys, and the origin of what the sequencer has not numbered. */
      readonly node: string;
      /** What the worker has already; an empty epoch for nothing. */
      readonly epoch: string;
      readonly number: number;
      readonly bounds: StateBounds;
      readonly store?: StoreAddress | undefined;
    }
  | { readonly type: 'pull'; readonly after: number }
  /** `last` numbers the last of these changes among those of the worker. */
  | { readonly type: 'changes'; readonly last: number; readonly changes: readonly KeyChange[] }
  /**
   * What the worker has of others, or has said to a sequencer that is gone: the newer one counts. Of keys with an owner, the
   * worker gives its own alone.
   */
  | {
      readonly type: 'page';
      readonly changes: readonly KeyChange[];
      readonly last?: number | undefined;
      readonly next?: number | undefined;
      readonly isAll?: boolean | undefined;
    }
  | (Request & LinkQuestion)
);

/** A question without its number. */
export type Request =
  /** The fields of one value. The change has a number among those of the worker. */
  | { readonly type: 'patch'; readonly number: number; readonly changes: readonly [fields: KeyChange] }
  /** A change without a value stands for no such key. */
  | { readonly type: 'compareAndSet'; readonly changes: readonly [expected: KeyChange, value: KeyChange] }
  | { readonly type: 'ping' }
  /** From which number a client continues that comes from another machine. */
  | { readonly type: 'continue'; readonly epoch: string; readonly time: number }
  | { readonly type: 'stored' }
  | { readonly type: 'close' };

/** A change with its place in the order of the machine. */
export type NumberedChange = KeyChange & { readonly seq: number };

export type FromSequencer = { readonly room: string } & (
  | { readonly type: 'pull'; readonly after: number }
  | {
      readonly type: 'page';
      readonly epoch: string;
      /** Whether it is the first page of everything, and not of what has changed. */
      readonly isFirst: boolean;
      readonly forgottenSeq: number;
      readonly changes: readonly NumberedChange[];
      /** The number after which the next page begins; undefined on the last page. */
      readonly next?: number | undefined;
      /** The number of the latest change, on the last page. */
      readonly seq: number;
      /** In the process of the sequencer: all there is, and all that there will be. */
      readonly shared?: Entries | undefined;
    }
  | {
      readonly type: 'changes';
      readonly seq: number;
      /** The last change of the receiver that is in these, or before. */
      readonly acked: number;
      readonly changes: readonly NumberedChange[];
    }
  | (LinkAnswer & {
      readonly type: 'reply';
      readonly isDone?: boolean | undefined;
      /** The answer to `continue`; undefined for a snapshot. */
      readonly from?: number | undefined;
      /** A code of errors.ts. */
      readonly error?: string | undefined;
      readonly written?: number | undefined;
      readonly unwritten?: number | undefined;
    })
  | ({ readonly type: 'store' } & StoreNews)
);

/** What happens to the store of a room. */
export interface StoreNews {
  /** Up to this number, Redis has everything. */
  readonly written: number;
  /** Why it cannot be stored; undefined if it can. */
  readonly down?: string | undefined;
  /** For the metrics of one worker: how often since the last news Redis had lost something. */
  readonly losses?: number | undefined;
}

/** Between machines. Whoever can publish on the backplane can send these. */
export type ToMachine =
  | { readonly type: 'changes'; readonly room: string; readonly changes: readonly KeyChange[] }
  /** The rooms with their numbers of keys, and sums of them. */
  | { readonly type: 'digests'; readonly digests: readonly Digest[] }
  | { readonly type: 'pull'; readonly room: string; readonly after: number }
  /** The answer comes behind everything that the receiver has changed before. */
  | ({ readonly type: 'ping' } & LinkQuestion)
  | ({ readonly type: 'pong' } & LinkAnswer)
  | {
      readonly type: 'page';
      readonly room: string;
      readonly changes: readonly KeyChange[];
      readonly next?: number | undefined;
      /** On the last page: up to which times the sender has had everything, by the sequencer that made it. */
      readonly known?: readonly Known[] | undefined;
    };

export type Known = readonly [origin: string, clock: number];
export type Digest = readonly [room: string, count: number, sum: number, isQuiet: boolean, epoch: string];

export interface StateBounds {
  readonly maxKeys: number;
  readonly maxBytes: number;
}

type AnyMessage = object & {
  readonly type: string;
  readonly changes?: readonly (KeyChange & { readonly seq?: number })[];
};

const kinds = { deleted: 0, json: 1, bytes: 2, kind: 3, expires: 4, seq: 8, owner: 16 } as const;

/**
 * Encodes a message: the length of its head (4), its head as JSON without the changes, and the changes:
 *
 *     kind (1) │ clock (8) │ expires (8)? │ seq (8)? │ owner?, origin, key, value: length (4), text or bytes
 */
export function encodeStateMessage(message: ToSequencer | FromSequencer | ToMachine): Buffer {
  const { changes, ...head } = message as AnyMessage;
  // Several workers get the same changes.
  if (changes && changes !== last.changes) last = { changes, body: encodeChanges(changes) };
  const body = changes ? last.body : undefined;
  const text = JSON.stringify(head);
  const length = Buffer.byteLength(text);
  const bytes = Buffer.allocUnsafe(4 + length + (body?.length ?? 0));
  bytes.writeUInt32LE(body ? length + 0x8000_0000 : length);
  bytes.write(text, 4);
  body?.copy(bytes, 4 + length);
  return bytes;
}

let last: { readonly changes: AnyMessage['changes']; readonly body: Buffer } = { changes: [], body: Buffer.alloc(0) };

function encodeChanges(changes: readonly (KeyChange & { readonly seq?: number })[]): Buffer {
  let size = 0;
  for (const { key, origin, value, owner } of changes) {
    size +=
      41 +
      3 * key.length +
      origin.length +
      (owner?.length ?? 0) +
      (typeof value === 'string' ? 3 * value.length : (value?.length ?? 0));
  }
  let bytes = Buffer.allocUnsafe(size);
  let at = 0;
  for (const { key, clock, origin, value, expires, seq, owner } of changes) {
    let kind: number = value === undefined ? kinds.deleted : typeof value === 'string' ? kinds.json : kinds.bytes;
    if (expires !== undefined) kind |= kinds.expires;
    if (seq !== undefined) kind |= kinds.seq;
    if (owner !== undefined) kind |= kinds.owner;
    bytes[at] = kind;
    at = bytes.writeDoubleLE(clock, at + 1);
    if (expires !== undefined) at = bytes.writeDoubleLE(expires, at);
    if (seq !== undefined) at = bytes.writeDoubleLE(seq, at);
    for (const text of owner === undefined ? [origin, key] : [owner, origin, key]) {
      const length = bytes.write(text, at + 4);
      bytes.writeUInt32LE(length, at);
      at += 4 + length;
    }
    if (value === undefined) continue;
    const length = typeof value === 'string' ? bytes.write(value, at + 4) : value.copy(bytes, at + 4);
    bytes.writeUInt32LE(length, at);
    at += 4 + length;
  }
  bytes = bytes.subarray(0, at);
  // Long texts leave two thirds unused.
  return size > 2 * at && size > 65_536 ? Buffer.from(bytes) : bytes;
}

/** Decodes what the other end on this machine has encoded. @throws MalformedMessage */
export function decodeStateMessage<Message extends ToSequencer | FromSequencer | ToMachine>(bytes: Buffer): Message {
  try {
    const first = bytes.readUInt32LE(0);
    const length = first & 0x7fff_ffff;
    const head = JSON.parse(bytes.toString('utf8', 4, 4 + length)) as Message;
    return first === length ? head : ({ ...head, changes: decodeChanges(bytes, 4 + length) } as Message);
  } catch (error) {
    throw new MalformedMessage(`a message of state rooms: ${(error as Error).message}`);
  }
}

function decodeChanges(bytes: Buffer, from: number): (KeyChange & { seq?: number })[] {
  const changes: (KeyChange & { seq?: number })[] = [];
  let at = from;
  const text = () => {
    const length = bytes.readUInt32LE(at);
    at += 4 + length;
    if (at > bytes.length) throw new RangeError('a text is too short');
    return bytes.toString('utf8', at - length, at);
  };
  while (at < bytes.length) {
    const kind = bytes[at]!;
    const clock = bytes.readDoubleLE(at + 1);
    at += 9;
    let expires: number | undefined;
    let seq: number | undefined;
    if (kind & kinds.expires) {
      expires = bytes.readDoubleLE(at);
      at += 8;
    }
    if (kind & kinds.seq) {
      seq = bytes.readDoubleLE(at);
      at += 8;
    }
    const owner = kind & kinds.owner ? text() : undefined;
    const origin = text();
    const change: KeyChange & { seq?: number } = { key: '', clock, origin, value: undefined, expires, owner };
    if (!isTick(clock)) throw new RangeError('a change has no time');
    if (seq !== undefined) change.seq = seq;
    (change as { key: string }).key = text();
    if ((kind & kinds.kind) !== kinds.deleted) {
      const length = bytes.readUInt32LE(at);
      at += 4 + length;
      if (at > bytes.length) throw new RangeError('a value is too short');
      const isText = (kind & kinds.kind) === kinds.json;
      change.value = isText ? bytes.toString('utf8', at - length, at) : Buffer.from(bytes.subarray(at - length, at));
    }
    changes.push(change);
  }
  return changes;
}

/** Names go into Redis. */
const ORIGIN = /^[\w~-]{1,64}$/;

type Check = (value: unknown) => boolean;
const isText: Check = (value) => typeof value === 'string';
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const areChanges: Check = (value) =>
  Array.isArray(value) &&
  value.every(({ key, origin, owner = origin }: KeyChange) => key !== '' && ORIGIN.test(origin) && ORIGIN.test(owner));

const isKnown: Check = (value) => Array.isArray(value) && ORIGIN.test(value[0]) && isTick(value[1]);

const checks: Readonly<Record<ToMachine['type'], Readonly<Record<string, Check>>>> = {
  changes: { room: isText, changes: areChanges },
  digests: {
    digests: (value) => Array.isArray(value) && value.every((each) => Array.isArray(each) && isText(each[0])),
  },
  pull: { room: isText, after: isCount },
  ping: { request: isCount },
  pong: { answers: isCount },
  page: {
    ...{ room: isText, changes: areChanges, next: (value) => value === undefined || isCount(value) },
    known: (value) => value === undefined || (Array.isArray(value) && value.every(isKnown)),
  },
};

/**
 * Decodes what another machine has sent. Other programs may publish on the backplane too.
 * @throws MalformedMessage
 */
export function decodeFromMachine(bytes: Buffer): ToMachine {
  const message = decodeStateMessage<ToMachine>(bytes);
  const given = (message ?? {}) as unknown as Record<string, unknown>;
  const fields = Object.hasOwn(checks, `${given.type}`) ? checks[given.type as ToMachine['type']] : undefined;
  for (const [name, isValid] of Object.entries(fields ?? { type: () => false })) {
    if (!isValid(given[name])) throw new MalformedMessage(`a message of state rooms with an invalid ${name}`);
  }
  return message;
}
