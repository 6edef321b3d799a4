import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type LogState, placeOf } from '../../../../src/features/history/page.js';
import type { Position } from '../../../../src/features/history/store.js';

type Row = [state: string, log: number[], first: number, reader: Position, after: number, lost: boolean];

const at = (offset: number, tag: number): Position => ({ offset, tag });

/** Logs by the tags of their messages, of which those before `first` are trimmed. */
test.each<Row>([
  ['has the message of the reader', [10, 20, 30], 1, at(2, 20), 2, false],
  ['has it as its newest one', [10, 20, 30], 1, at(3, 30), 3, false],
  ['has another message there', [10, 20, 40], 1, at(3, 30), 2, true],
  ['has another message there, and others since', [10, 20, 40, 50], 1, at(3, 30), 2, true],
  ['is shorter', [10, 20], 1, at(4, 40), 2, true],
  ['is empty', [], 1, at(4, 40), 0, true],
  ['began again, and is longer', [50, 60, 70], 1, at(2, 40), 0, true],
  ['has older messages there, because the right data is back', [10, 20, 30, 60], 1, at(2, 50), 3, true],
  ['is trimmed up to the reader', [10, 20, 30], 3, at(2, 20), 2, false],
  ['is trimmed beyond the reader', [10, 20, 30, 40], 4, at(2, 20), 2, false],
  ['is trimmed as a whole', [10, 20, 30], 4, at(3, 30), 3, false],
  ['is trimmed as a whole, behind another message', [10, 20, 30], 4, at(3, 25), 3, true],
  ['is trimmed, and has older messages behind the reader', [10, 20, 30, 40], 2, at(1, 35), 3, true],
  ['has messages, and the reader has read nothing', [10, 20], 1, at(0, 0), 0, false],
  ['is back, and the reader has read what is lost', [10, 20, 60], 1, at(0, 50), 2, false],
])('a log that %s', (_state, tags, first, reader, offset, lost) => {
  const log: LogState = { first, offset: tags.length, tag: tags.at(-1) ?? 0 };
  expect(placeOf(log, reader, (offset) => tags[offset - 1]!)).toEqual({ offset, lost });
});

/**
 * A store that is restored and emptied at random, and a reader that catches up now and then. The model knows which
 * messages the reader must get: those that the store has when it catches up, and that were posted after the last time.
 */
test('a reader gets every message once that is there when it reads, whatever happens to the store', () => {
  const step = fc.record({
    fault: fc.constantFrom('none', 'empty', 'snapshot', 'restore', 'trim'),
    posts: fc.nat(4),
    reads: fc.boolean(),
  });
  const run = (steps: readonly { fault: string; posts: number; reads: boolean }[]) => {
    let newest = 0;
    let [log, snapshot] = [[] as number[], [] as number[]];
    let first = 1;
    let reader = at(0, 0);
    // The newest tag of its positions. It does not get older messages, even if they were trimmed when it read.
    let before = 0;
    const heard: number[] = [];
    for (const { fault, posts, reads } of steps) {
      if (fault === 'empty') [log, first] = [[], 1];
      if (fault === 'snapshot') snapshot = [...log];
      if (fault === 'restore') [log, first] = [[...snapshot], 1];
      if (fault === 'trim') first = Math.min(log.length + 1, first + 1);
      for (let post = 0; post < posts; post++) log.push(++newest);
      if (!reads) continue;
      const state = { first, offset: log.length, tag: log.at(-1) ?? 0 };
      const { offset, lost } = placeOf(state, reader, (one) => log[one - 1]!);
      const page = log.slice(Math.max(offset, first - 1));
      heard.push(...page.filter((tag) => tag > before));
      expect(heard.filter((tag) => tag > before)).toEqual(log.slice(first - 1).filter((tag) => tag > before));
      // It is told when the log does not have the message that it has read last.
      const isThere = reader.offset === 0 || reader.offset < first || log[reader.offset - 1] === reader.tag;
      if (!isThere) expect(lost).toBe(true);
      reader = log.length > 0 ? at(log.length, log.at(-1)!) : at(0, before);
      before = Math.max(before, reader.tag);
    }
    expect(heard).toEqual([...new Set(heard)].sort((one, other) => one - other));
  };
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => run(steps)),
    { numRuns: 2000 },
  );
});
