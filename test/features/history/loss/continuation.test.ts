import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  continueLog,
  type LogView,
  type Reader,
  remember,
} from '../../../../src/features/history/loss/continuation.js';
import type { FormerEpoch } from '../../../../src/features/history/store.js';

const reader: Reader = { epoch: 'now', offset: 25, earlier: [{ epoch: 'before', offset: 10 }] };
const kept = (epoch: string, offset: number): FormerEpoch => ({ epoch, offset, kept: true });
const cut = (epoch: string, offset: number): FormerEpoch => ({ epoch, offset, kept: false });

type Row = [state: string, log: Partial<LogView>, finding: string, after: number];

describe('in the same epoch, a log that', () => {
  const rows: Row[] = [
    ['is empty', { offset: 0 }, 'behind', 25],
    ['is shorter', { offset: 20 }, 'behind', 25],
    ['is as long', { offset: 25 }, 'same', 25],
    ['is longer', { offset: 30, next: 26 }, 'same', 25],
    ['is longer, with its beginning trimmed behind the reader', { offset: 30, next: 28 }, 'trimmed', 27],
    ['is longer, with all messages trimmed', { offset: 30 }, 'trimmed', 30],
  ];
  test.each(rows)('%s', (_state, log, finding, after) => {
    expect(continueLog(reader, { epoch: 'now', offset: 0, next: undefined, ...log })).toEqual({ finding, after });
  });
});

describe('in a new epoch, a log that', () => {
  const rows: Row[] = [
    ['is empty and continues nothing', { offset: 0, former: [] }, 'lost', 0],
    ['begins again', { offset: 7, former: [] }, 'lost', 0],
    ['begins again, and is longer', { offset: 40, former: [] }, 'lost', 0],
    ['begins again, with its beginning trimmed', { offset: 40, next: 30, former: [] }, 'lost', 0],
    ['has all messages', { offset: 25, former: [kept('now', 25)] }, 'continued', 25],
    ['has all messages and new ones', { offset: 28, former: [kept('now', 26)] }, 'continued', 25],
    ['has all messages, as far as it knows', { offset: 25, former: [cut('now', 25)] }, 'uncertain', 25],
    [
      'has all messages over a second restart',
      { offset: 30, former: [kept('x', 27), kept('now', 25)] },
      'continued',
      25,
    ],
    [
      'may have lost some at a second restart',
      { offset: 30, former: [cut('x', 27), kept('now', 25)] },
      'uncertain',
      25,
    ],
    ['is shorter', { offset: 20, former: [cut('now', 20)] }, 'lost', 20],
    ['is shorter, and says that it is whole', { offset: 20, former: [kept('now', 20)] }, 'lost', 20],
    ['was shorter, and is longer by now', { offset: 99, former: [cut('now', 20)] }, 'lost', 20],
    ['was shorter, and is trimmed by now', { offset: 99, next: 90, former: [cut('now', 20)] }, 'lost', 20],
    ['continues an epoch before the last one', { offset: 12, former: [cut('before', 12)] }, 'lost', 10],
    ['continues less of an epoch before the last one', { offset: 12, former: [cut('before', 5)] }, 'lost', 5],
    ['is an epoch from before the last one', { epoch: 'before', offset: 14, former: [] }, 'lost', 10],
    ['continues another one', { offset: 2000, former: [cut('other', 1000)] }, 'lost', 1000],
  ];
  test.each(rows)('%s', (_state, log, finding, after) => {
    expect(continueLog(reader, { epoch: 'new', offset: 0, next: undefined, ...log })).toEqual({ finding, after });
  });

  test('is another one loses nothing for a reader that has read nothing', () => {
    const fresh = { epoch: 'now', offset: 0, earlier: [] };
    expect(continueLog(fresh, { epoch: 'new', offset: 3, next: 1, former: [] })).toEqual({
      finding: 'other',
      after: 0,
    });
    const inherits = { epoch: 'new', offset: 12, next: undefined, former: [cut('old', 10)] };
    expect(continueLog(fresh, inherits)).toEqual({ finding: 'other', after: 10 });
  });

  test('had a restart since is read from the first message that was announced', () => {
    const log: LogView = { epoch: 'third', offset: 5, next: undefined, former: [kept('second', 3)] };
    expect(continueLog(reader, log).after).toBe(3);
    expect(continueLog(reader, log, [{ epoch: 'second', offset: 2 }]).after).toBe(1);
    // Lost again before the restart, or of a log that is gone.
    expect(continueLog(reader, log, [{ epoch: 'second', offset: 4 }]).after).toBe(3);
    expect(continueLog(reader, log, [{ epoch: 'gone', offset: 1 }]).after).toBe(3);
  });
});

/**
 * A store that is restarted, restored and emptied at random, and a reader that catches up now and then. Each message has
 * its number, so the model knows which ones the reader must get: those that the store has when it catches up, and that
 * were posted after the last time.
 */
test('a reader that catches up before the next fault gets every message once, whatever happens to the store', () => {
  const fault = fc.oneof(
    fc.record({ type: fc.constant('restart' as const) }),
    fc.record({ type: fc.constant('empty' as const) }),
    fc.record({ type: fc.constant('snapshot' as const) }),
    fc.record({ type: fc.constant('restore' as const) }),
  );
  const step = fc.record({ fault, posts: fc.nat(4) });
  const run = (steps: readonly StepOf<typeof step>[]) => {
    let epochs = 0;
    let number = 0;
    type Log = { epoch: string; former: FormerEpoch[]; messages: number[] };
    const begin = (): Log => ({ epoch: `e${++epochs}`, former: [], messages: [] });
    const next = ({ epoch, former, messages }: Log, whole: boolean): Log => ({
      epoch: `e${++epochs}`,
      former: [{ epoch, offset: messages.length, kept: whole }, ...former].slice(0, 12),
      messages: [...messages],
    });
    let log = begin();
    let snapshot = log;
    let position: Reader = { epoch: log.epoch, offset: 0, earlier: [] };
    const heard: number[] = [];
    const catchUp = () => {
      if (log.epoch !== position.epoch) {
        const view = { epoch: log.epoch, offset: log.messages.length, former: log.former, next: undefined };
        const { after } = continueLog(position, view);
        position = { epoch: log.epoch, offset: after, earlier: remember(position, log.former, after) };
      }
      heard.push(...log.messages.slice(position.offset));
      position = { ...position, offset: Math.max(position.offset, log.messages.length) };
    };
    for (const { fault, posts } of steps) {
      if (fault.type === 'restart') log = next(log, true);
      if (fault.type === 'empty') log = begin();
      if (fault.type === 'snapshot') snapshot = { ...log, messages: [...log.messages] };
      if (fault.type === 'restore') log = next(snapshot, false);
      const posted = Array.from({ length: posts }, () => ++number);
      log.messages.push(...posted);
      const before = heard.length;
      catchUp();
      expect(heard.slice(before)).toEqual(posted);
    }
    expect(new Set(heard).size).toBe(heard.length);
  };
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => run(steps)),
    { numRuns: 2000 },
  );
});

type StepOf<T> = T extends fc.Arbitrary<infer U> ? U : never;
