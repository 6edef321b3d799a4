import { randomBytes } from 'node:crypto';
import { combine, isCovered, type RevocationRecord } from './revocation-record.js';
import type { FieldChange } from './revocation-store.js';

/**
 * The field that names the list. A store that was emptied has none, and one that was filled again has another. Its value
 * is a record, which versions without generations read as a revocation of nothing.
 */
export const GENERATION = 'generation';

/** How long an expired record stays in the store, in ms, because the clocks of machines differ. */
const CLOCKS_MS = 3_600_000;

/** The list as a worker knows it. */
export interface KnownList {
  readonly generation: string;
  readonly records: ReadonlyMap<string, RevocationRecord>;
}

/** The list as it was read. */
export interface StoredList {
  readonly generation: string | undefined;
  readonly records: ReadonlyMap<string, RevocationRecord>;
  /** The fields as they were read. */
  readonly fields: ReadonlyMap<string, string>;
}

export function decodeList(fields: ReadonlyMap<string, string>): StoredList {
  const records = new Map<string, RevocationRecord>();
  for (const [field, value] of fields) {
    if (field !== GENERATION) records.set(field, JSON.parse(value) as RevocationRecord);
  }
  return { generation: fields.get(GENERATION), records, fields };
}

export function newGeneration(): string {
  const value = randomBytes(12).toString('base64url');
  return JSON.stringify({ id: GENERATION, value, at: 0, expires: Number.MAX_SAFE_INTEGER });
}

export function changeOf(record: RevocationRecord, { fields }: StoredList): FieldChange {
  return { field: record.id, from: fields.get(record.id), to: JSON.stringify(record) };
}

/** What a worker knows after it has read the store, and what the store lacks. */
export interface Comparison {
  readonly records: ReadonlyMap<string, RevocationRecord>;
  /** What the store should have, and has not. */
  readonly missing: readonly RevocationRecord[];
  /** Whether the store has lost the list that the worker knew, or a part of it. */
  readonly isLost: boolean;
}

/**
 * A field of the store never weakens or disappears before its time. If one has, or if the generation is another one, the
 * store was emptied, or was restored from an older snapshot.
 */
export function compareLists(known: KnownList | undefined, stored: StoredList, now: number): Comparison {
  const records = new Map<string, RevocationRecord>();
  const missing: RevocationRecord[] = [];
  for (const [id, record] of known?.records ?? []) {
    if (record.expires <= now) continue;
    const there = stored.records.get(id);
    const combined = combine(record, there);
    records.set(id, combined);
    if (!isCovered(combined, there)) missing.push(combined);
  }
  for (const [id, record] of stored.records) {
    if (record.expires > now && !records.has(id)) records.set(id, record);
  }
  const isLost = known !== undefined && (missing.length > 0 || stored.generation !== known.generation);
  return { records, missing, isLost };
}

/** The changes that give the store what it lacks. The generation comes last: until then, the list may be incomplete. */
export function restoring({ missing }: Comparison, stored: StoredList, known: KnownList | undefined): FieldChange[] {
  const changes = missing.map((record) => changeOf(record, stored));
  // Another generation means that another worker has written its list back, which tells the others of the loss.
  const isTold = stored.generation !== undefined && stored.generation !== known?.generation;
  return isTold ? changes : [...changes, { field: GENERATION, from: stored.generation, to: newGeneration() }];
}

/** The changes that remove what has expired long ago. */
export function expired({ records, fields }: StoredList, now: number): FieldChange[] {
  return [...records].flatMap(([field, { expires }]) =>
    expires + CLOCKS_MS <= now ? [{ field, from: fields.get(field), to: undefined }] : [],
  );
}
