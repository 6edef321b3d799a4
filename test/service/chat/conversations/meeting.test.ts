import { afterEach, beforeEach, expect, test } from '@jest/globals';
import {
  type Conversation,
  directBetween,
  keyOf,
} from '../../../../src/features/history/conversations/conversation.js';
import { Conversations } from '../../../../src/features/history/conversations/conversations.js';
import { SqliteHistoryStore } from '../../../../src/features/history/index.js';
import type { OpenService } from '../../../../src/io/rooms/index.js';
import { temporaryFolder } from '../../../support/folder.js';
import { until } from '../../../support/until.js';

let dataDir: string;
let store: SqliteHistoryStore;
let isCut: boolean;
let listeners: Parameters<OpenService>[0][];
let workers: { conversations: Conversations; heard: string[] }[];

beforeEach(async () => {
  dataDir = temporaryFolder();
  store = await SqliteHistoryStore.open({ dataDir });
  isCut = false;
  listeners = [];
  workers = [start(), start()];
});

afterEach(async () => {
  for (const { conversations } of workers) conversations.close();
  await store.close();
});

function start(): (typeof workers)[0] {
  const heard: string[] = [];
  const index = listeners.length;
  const open: OpenService = (listener) => {
    listeners.push(listener);
    const send = (message: unknown) => !isCut && listeners[1 - index]!.onMessage(structuredClone(message), `${index}`);
    return { send, close: () => {} };
  };
  const conversations = new Conversations(store, undefined, open, {
    hasRoom: () => true,
    hasUser: () => true,
    deliver: (_conversation, { text }) => heard.push(text),
    onRead: () => {},
  });
  return { conversations, heard };
}

/** The other worker is here again. */
function meet(): void {
  isCut = false;
  for (const [index, listener] of listeners.entries()) listener.onHere(`${1 - index}`, false);
}

const say = (one: (typeof workers)[0], conversation: Conversation, text: string) =>
  one.conversations.post(conversation, [{ from: 'alice', text, at: Date.now() }]);

test('what workers have not heard of each other is read when they meet, in rooms and direct conversations', async () => {
  const [one, two] = workers as [(typeof workers)[0], (typeof workers)[0]];
  const direct = directBetween('alice', 'bob');
  await two.conversations.follow('hall');
  await say(one, { room: 'hall' }, 'a');
  await until(() => two.heard.length === 1);
  isCut = true;
  await say(one, { room: 'hall' }, 'b');
  // A conversation that the other worker has never heard of.
  for (const text of ['c', 'd']) await say(one, direct, text);
  await until(() => one.heard.length === 2);
  expect(two.heard).toEqual(['a']);
  meet();
  await until(() => two.heard.length === 4);
  expect([...two.heard].sort()).toEqual(['a', 'b', 'c', 'd']);
  expect(two.heard.indexOf('c')).toBeLessThan(two.heard.indexOf('d'));
});

test('what cannot be named or kept as it is is rejected: two conversations never share a key', async () => {
  const { conversations } = workers[0]!;
  const rejection = expect.objectContaining({ code: 'BAD_INPUT' });
  const bad = [{ room: 'k:\ud800' }, { room: 7 }, directBetween('a\nb', 'c'), directBetween('a', 'b\nc')];
  for (const conversation of [...bad, directBetween('a', '\ud800'), { users: ['a', 7] }] as Conversation[]) {
    expect(() => keyOf(conversation)).toThrow(rejection);
    await expect(conversations.post(conversation, [{ from: 'a', text: 'x', at: 1 }])).rejects.toEqual(rejection);
    await expect(conversations.read(conversation, { limit: 1 })).rejects.toEqual(rejection);
    if ('room' in conversation) await expect(conversations.follow(conversation.room)).rejects.toEqual(rejection);
  }
  for (const [from, text] of [
    ['a', 7],
    ['a', undefined],
    ['a', '\ud800'],
    ['\ud800', 'x'],
    [7, 'x'],
  ] as string[][]) {
    const message = { from: from!, text: text!, at: 1 };
    await expect(conversations.post({ room: 'hall' }, [message])).rejects.toEqual(rejection);
  }
  expect(await conversations.read({ room: 'line\nbreak' }, { limit: 1 })).toMatchObject({ messages: [] });
});
