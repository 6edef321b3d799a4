import { expect } from '@jest/globals';
import type { HistoryLimits, HistoryStore, NewMessage } from '../../../../src/features/history/store.js';

/** What the suite needs of an implementation. */
export interface Harness {
  /** Opens another store on the same data, as another worker would. */
  open(limits?: HistoryLimits): Promise<HistoryStore>;
  /** What test/features/history/support/appender.mjs opens it with. */
  readonly options: object;
  /** Everything that was kept is gone. Stores that were opened before are not used any more. */
  lose(): Promise<void>;
  /** From now on the store has no room for anything. */
  refuse(): Promise<void>;
  /** And from now on it has again. */
  accept(): Promise<void>;
  remove(): Promise<void>;
}

export const HOUR = 3_600_000;

export const say = (text: string, at = Date.now()): NewMessage => ({ from: 'alice', text, at });
export const texts = (messages: readonly { text: string }[]): string[] => messages.map(({ text }) => text);
export const offsets = (positions: readonly { offset: number }[]): number[] => positions.map(({ offset }) => offset);
export const count = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);
export const sayNumbers = (from: number, to: number, at?: number): NewMessage[] =>
  count(from, to).map((number) => say(`${number}`, at));

/** Reads forwards to the end, as a client that comes back does. */
export async function readAll(store: HistoryStore, conversation: string) {
  const all = [];
  for (let after = 0; ; ) {
    const page = await store.read(conversation, { after, limit: 1000 });
    all.push(...page.messages);
    if (page.messages.length === 0) return all;
    after = page.messages.at(-1)!.offset;
  }
}

export async function changesFrom(store: HistoryStore, cursor: string | undefined, limit: number) {
  const all = [];
  for (;;) {
    const page = await store.changes(cursor, limit);
    if (page.changes.length === 0) return { changes: all, cursor: page.cursor };
    expect(page.changes.length).toBeLessThanOrEqual(limit);
    all.push(...page.changes);
    cursor = page.cursor;
  }
}
/** What the suite looks at: one implementation, with a room for each test. */
export interface Subject {
  readonly harness: Harness;
  readonly store: HistoryStore;
  readonly room: string;
  /** Opens another store on the same data, which is closed in the end. */
  open(limits?: HistoryLimits): Promise<HistoryStore>;
  /** Loses everything that was kept. `store` is another one from then on. */
  lose(): Promise<void>;
}
