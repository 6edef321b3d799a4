import { expect, test } from '@jest/globals';
import { AppendBudget } from '../../../../src/features/history/conversations/conversations.js';

const overloaded = expect.objectContaining({ code: 'OVERLOADED' });

test('bounds what one client has waiting, and leaves the others alone', () => {
  const budget = new AppendBudget({ perClient: 100, total: 1000 });
  const releases = [budget.reserve('mallory', 60), budget.reserve('mallory', 40)];
  expect(() => budget.reserve('mallory', 1)).toThrow(overloaded);
  const other = budget.reserve('alice', 100);
  releases[0]!();
  budget.reserve('mallory', 60)();
  for (const release of [releases[1]!, other]) release();
  // A single large request fits when nothing else of the client waits.
  const large = budget.reserve('alice', 900);
  expect(() => budget.reserve('alice', 1)).toThrow(overloaded);
  large();
});

test('bounds what all have waiting', () => {
  const budget = new AppendBudget({ perClient: 100, total: 250 });
  const [first] = ['a', 'b'].map((client) => budget.reserve(client, 100));
  expect(() => budget.reserve('c', 51)).toThrow(overloaded);
  first!();
  budget.reserve('c', 100);
});
