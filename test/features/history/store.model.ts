import { afterAll, beforeAll, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import type { HistoryStore, NewMessage, PageQuery } from '../../../src/features/history/store.js';
import { changesFrom, type Harness, HOUR } from './contract/subject.js';

const CONVERSATIONS = 3;
const MAX_MESSAGES = 12;
const base = Date.now();

/** The simplest thing that keeps the contract: an array per conversation. */
class Model {
  readonly logs = Array.from({ length: CONVERSATIONS }, () => ({
    messages: [] as NewMessage[],
    /** How many at the beginning are gone. */
    gone: 0,
    tags: [] as number[],
    keys: new Map<string, { offset: number; at: number }>(),
  }));
  private horizon = 0;

  append(conversation: number, messages: NewMessage[], key?: string): { offset: number; duplicate?: true }[] {
    const log = this.logs[conversation]!;
    const earlier = key === undefined ? undefined : log.keys.get(key);
    if (earlier) {
      const first = earlier.offset - messages.length + 1;
      return messages.map((_, index) => ({ offset: first + index, duplicate: true as const }));
    }
    const results = messages.map((message) => ({ offset: log.messages.push(message) }));
    if (key !== undefined) log.keys.set(key, { offset: log.messages.length, at: Date.now() });
    log.gone = Math.max(log.gone, log.messages.length - MAX_MESSAGES);
    return results;
  }

  /** The time of a trim may be ahead of the clock, by which a store may count the age of keys: neither way is wrong, so neither is tried. */
  usable(conversation: number, key: string | undefined): boolean {
    const earlier = key === undefined ? undefined : this.logs[conversation]!.keys.get(key);
    return !earlier || earlier.at >= this.horizon;
  }

  trim(now: number): void {
    this.horizon = Math.max(this.horizon, now - HOUR);
    for (const log of this.logs) {
      while (log.gone < log.messages.length && log.messages[log.gone]!.at < now - HOUR) log.gone++;
    }
  }

  /** Returns how many messages had something to erase. */
  erase(conversation: number, offsets: number[]): number {
    const { messages, gone } = this.logs[conversation]!;
    const present = offsets.filter((offset) => offset > gone && messages[offset - 1]?.from);
    for (const offset of present) messages[offset - 1] = { ...messages[offset - 1]!, from: '', text: '' };
    return present.length;
  }

  read(conversation: number, { after, before = Infinity, limit }: PageQuery) {
    const { messages, gone } = this.logs[conversation]!;
    const all = messages.map(({ from, text, at }, index) => ({ from, text, at, offset: index + 1 }));
    const asked = all.filter(({ offset }) => offset > (after ?? 0) && offset < before);
    // What would have been on the page had nothing been removed, and what is.
    const ideal = after === undefined ? asked.slice(-limit) : asked.slice(0, limit);
    const kept = asked.filter(({ offset }) => offset > gone);
    return {
      messages: after === undefined ? ideal.filter(({ offset }) => offset > gone) : kept.slice(0, limit),
      complete: ideal.every(({ offset }) => offset > gone),
    };
  }
}

/** The most messages count erased ones too. */
const erasedThenTrimmed = (erased: number): Step[] => [
  { conversation: 0, key: undefined, append: Array(10).fill({ from: 'a', text: '', at: base }) },
  { conversation: 0, erase: [erased] },
  { conversation: 0, key: undefined, append: Array(3).fill({ from: 'a', text: '', at: base }) },
  { conversation: 0, read: { after: 0, limit: 15 } },
];

const conversation = fc.nat(CONVERSATIONS - 1);
const minutes = fc.integer({ min: 0, max: 180 });
const message = fc.record({
  from: fc.constantFrom('a', 'b'),
  text: fc.string({ maxLength: 5 }),
  at: minutes.map((n) => base + n * 60_000),
});
const key = fc.option(fc.constantFrom('k1', 'k2', 'k3'), { nil: undefined, freq: 2 });
const bound = fc.option(fc.nat(30), { nil: undefined });
const allOffsets = Array.from({ length: 100 }, (_, index) => index + 1);
const operation = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ conversation, key, append: fc.array(message, { minLength: 1, maxLength: 6 }) }),
  },
  { weight: 1, arbitrary: fc.record({ trim: minutes.map((n) => base + n * 60_000) }) },
  { weight: 1, arbitrary: fc.record({ conversation, erase: fc.uniqueArray(fc.integer({ min: 1, max: 30 })) }) },
  { weight: 1, arbitrary: fc.record({ conversation, erase: fc.constant(allOffsets) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      conversation,
      read: fc.record({ after: bound, before: bound, limit: fc.integer({ min: 1, max: 15 }) }),
    }),
  },
);

/** Whatever is done to the store, it answers as the model does. */
export function modelContract(start: () => Promise<Harness>): void {
  let harness: Harness;
  const stores: HistoryStore[] = [];
  beforeAll(async () => {
    harness = await start();
    for (let i = 0; i < 2; i++) stores.push(await harness.open({ ttlMs: HOUR, maxMessages: MAX_MESSAGES }));
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await harness.remove();
  });

  test('does what the model does', async () => {
    let runs = 0;
    let cursor: string | undefined;
    const run = async (operations: Step[]) => {
      const prefix = `run ${++runs}/`;
      const model = new Model();
      for (const [turn, step] of operations.entries()) {
        const store = stores[turn % 2]!;
        if ('append' in step) {
          const key = model.usable(step.conversation, step.key) ? step.key : undefined;
          const results = await store.append(`${prefix}${step.conversation}`, step.append, { key });
          const { tags } = model.logs[step.conversation]!;
          const expected = model.append(step.conversation, step.append, key);
          expect(results).toMatchObject(expected);
          for (const { offset, tag, duplicate } of results) {
            if (!duplicate) expect(tag).toBeGreaterThan(tags[offset - 2] ?? 0);
            if (!duplicate) tags[offset - 1] = tag;
            // An earlier append with the key may have had fewer messages.
            if (offset === results.at(-1)!.offset && offset > 0) expect(tag).toBe(tags[offset - 1]);
          }
        } else if ('trim' in step) {
          // An erased message may have lost its time: how much a trim takes then, the kinds of stores decide.
          if (operations.slice(0, turn).some((before) => 'erase' in before)) continue;
          await store.trim(step.trim);
          model.trim(step.trim);
        } else if ('erase' in step) {
          const { tags } = model.logs[step.conversation]!;
          const places = step.erase.map((offset) => ({ offset, tag: tags[offset - 1] ?? 0 }));
          const erased = await store.erase(`${prefix}${step.conversation}`, places);
          expect(erased).toBe(model.erase(step.conversation, step.erase));
        } else {
          const { tags } = model.logs[step.conversation]!;
          // A reader that has the right tag, if there is one.
          const { after, before = 0 } = step.read;
          const tag = tags[(after ?? before) - 1] ?? 0;
          const page = await store.read(`${prefix}${step.conversation}`, { ...step.read, tag });
          const { messages, complete } = model.read(step.conversation, step.read);
          const offset = model.logs[step.conversation]!.messages.length;
          const isLost = (step.read.after ?? 0) > offset;
          expect(page).toMatchObject({ complete: complete && !isLost, offset });
          expect(page.lost ?? false).toBe(isLost);
          // An erased message may lose its time and its tag.
          const expected = messages.map((message) => {
            const one = { ...message, tag: tags[message.offset - 1] };
            return message.from ? one : { ...one, at: expect.any(Number), tag: expect.any(Number) };
          });
          expect(page.messages).toEqual(expected);
        }
      }
      const tail = await changesFrom(stores[0]!, cursor, 7);
      cursor = tail.cursor;
      for (const [index, { messages, gone }] of model.logs.entries()) {
        const own = tail.changes.filter(({ conversation }) => conversation === `${prefix}${index}`);
        const kept = messages.map((message, at) => ({ ...message, offset: at + 1 })).slice(gone);
        const shown = ({ offset, text }: { offset: number; text: string }) => ({ offset, text });
        expect(own.filter(({ from }) => from).map(shown)).toEqual(kept.filter(({ from }) => from).map(shown));
        // An erased message has lost its text, and may be there for longer than the others.
        expect(own.filter(({ from, text }) => !from && text)).toEqual([]);
      }
    };
    await fc.assert(fc.asyncProperty(fc.array(operation, { maxLength: 25 }), run), {
      numRuns: 60,
      examples: [[erasedThenTrimmed(1)], [erasedThenTrimmed(2)]],
    });
  });
}

type Step =
  | { conversation: number; key: string | undefined; append: NewMessage[] }
  | { trim: number }
  | { conversation: number; erase: number[] }
  | { conversation: number; read: PageQuery };
