import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { directBetween, keyOf } from '../../../../src/features/history/conversations/conversation.js';
import {
  FollowedConversations,
  MAX_DIRECT,
  MAX_DIRECT_PER_USER,
} from '../../../../src/features/history/conversations/followed.js';
import { Resequencer } from '../../../../src/features/history/conversations/resequencer.js';
import type { HistoryStore, StoredMessage } from '../../../../src/features/history/store.js';

let followed: FollowedConversations;
let delivered: StoredMessage[];
const here = new Set<string>();

beforeEach(() => {
  delivered = [];
  here.clear();
  const members = { hasRoom: () => true, hasUser: (name: string) => here.has(name) };
  // Nothing is missing in these tests, so the history is never read.
  const store = {} as HistoryStore;
  followed = new FollowedConversations(
    members,
    (key) => new Resequencer(key, store, (message) => delivered.push(message)),
  );
});
afterEach(() => followed.close());

function receive(from: string, to: string, offset: number): void {
  const key = keyOf(directBetween(from, to));
  const message = { from, text: `${offset}`, at: 0, offset, tag: offset, before: offset - 1 };
  followed.resequencerFor(key, message)?.receive(message);
}

test('a user who writes to many names ends nobody else’s conversations', () => {
  here.add('mallory').add('alice').add('bob');
  receive('alice', 'bob', 1);
  for (let n = 0; n < 3 * MAX_DIRECT_PER_USER; n++) receive('mallory', `nobody ${n}`, 1);
  expect(followed.size).toBe(MAX_DIRECT_PER_USER + 1);
  receive('bob', 'alice', 2);
  expect(delivered.at(-1)).toMatchObject({ from: 'bob', offset: 2 });
});

test('a worker follows a bounded number of direct conversations, those with the newest messages', () => {
  for (let n = 0; n < 20; n++) here.add(`user ${n}`);
  receive('user 0', 'friend', 1);
  for (let n = 0; n < MAX_DIRECT + 500; n++) {
    receive(`user ${n % 20}`, `nobody ${n}`, 1);
    if (n % 100 === 0) receive('friend', 'user 0', 2 + n / 100);
  }
  expect(followed.size).toBe(MAX_DIRECT);
  expect(delivered.filter(({ from }) => from === 'friend').length).toBe((MAX_DIRECT + 500) / 100);
});

test('conversations between users who are elsewhere are not followed', () => {
  receive('nobody', 'no one', 1);
  expect(followed.size).toBe(0);
  here.add('alice');
  receive('alice', 'bob', 1);
  here.clear();
  receive('bob', 'alice', 2);
  expect(followed.size).toBe(0);
  expect(delivered.length).toBe(1);
});

test('ends direct conversations a minute after their last message', () => {
  here.add('alice');
  receive('alice', 'bob', 1);
  followed.endIdle(Date.now() + 59_000);
  expect(followed.size).toBe(1);
  followed.endIdle(Date.now() + 61_000);
  expect(followed.size).toBe(0);
});
