import { afterEach, expect, jest, test } from '@jest/globals';
import { PresenceBroadcaster } from '../../../../src/service/chat/presence/broadcaster.js';
import type { RoomPresence } from '../../../../src/service/chat/protocol.js';

afterEach(() => {
  jest.useRealTimers();
});

test('presence waits while the worker is busy, and loses no change', () => {
  jest.useFakeTimers();
  let users = new Set(['Astrid']);
  let isBusy = true;
  const sent: RoomPresence[] = [];
  const broadcaster = new PresenceBroadcaster(
    { usersOf: () => ({ members: users.size, users }) } as never,
    (presence) => sent.push(presence),
    () => true,
    () => isBusy,
  );
  broadcaster.watch('hall');
  users = new Set(['Astrid', 'Bjørn']);
  broadcaster.note('hall');
  jest.advanceTimersByTime(1000);
  users = new Set(['Bjørn', 'Chen']);
  broadcaster.note('hall');
  jest.advanceTimersByTime(1000);
  expect(sent).toEqual([]);
  isBusy = false;
  jest.advanceTimersByTime(300);
  expect(sent).toMatchObject([{ room: 'hall', members: 2, joined: ['Bjørn', 'Chen'], left: ['Astrid'] }]);
  broadcaster.close();
});
