import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { MAX_NAMED } from '../../../src/features/presence/registry.js';
import { type PresenceUpdate, PresenceUpdates } from '../../../src/features/presence/updates.js';

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

/** Updates of the room "hall", of which the test says who is there. */
class Hall {
  readonly here = new Map<string, unknown>();
  readonly sockets = new Map<string, number>();
  readonly told: object[] = [];
  isBusy = false;
  isWatched = true;
  readonly updates = new PresenceUpdates({
    usersOf: () => ({ members: this.here.size, users: new Map(this.here), sockets: new Map(this.sockets) }),
    isWatched: () => this.isWatched,
    isBusy: () => this.isBusy,
    onUpdate: ({ members, joined, changed, left, sockets }: PresenceUpdate) =>
      this.told.push({
        members,
        ...(joined && { joined: [...joined], changed: [...changed!], left: [...left!] }),
        ...(sockets && { sockets: [...sockets] }),
      }),
  });

  change(act: (here: Map<string, unknown>) => void, ms = 250): void {
    act(this.here);
    this.updates.note('hall');
    jest.advanceTimersByTime(ms);
  }
}

test('a room is told four times a second at most, and nothing if nothing is left of a change', () => {
  const hall = new Hall();
  hall.here.set('witness', undefined);
  hall.updates.watch('hall');
  for (let user = 0; user < 20; user++) hall.change((here) => here.set(`user${user}`, undefined), 50);
  jest.advanceTimersByTime(250);
  expect(hall.told).toHaveLength(4);
  expect(hall.told.flatMap((update) => (update as { joined: unknown[] }).joined)).toHaveLength(20);
  hall.change((here) => here.delete('user0'), 0);
  hall.change((here) => here.set('user0', undefined));
  expect(hall.told).toHaveLength(4);
});

test('a user who is back within a second has neither left nor joined', () => {
  const hall = new Hall();
  hall.change((here) => here.set('ada', 'Ada L.'));
  hall.change((here) => here.delete('ada'), 900);
  expect(hall.updates.toldOf('hall')).toEqual({ members: 1, users: new Map([['ada', 'Ada L.']]) });
  hall.change((here) => here.set('ada', 'Countess'), 2000);
  hall.change((here) => here.delete('ada'), 2000);
  expect(hall.told).toEqual([
    { members: 1, joined: [['ada', 'Ada L.']], changed: [], left: [] },
    { members: 1, joined: [], changed: [['ada', 'Countess']], left: [] },
    { members: 0, joined: [], changed: [], left: [['ada', 'Countess']] },
  ]);
});

test('a large room is told as a number, and whole once it is small again', () => {
  const hall = new Hall();
  const all = Array.from({ length: MAX_NAMED }, (_, user) => [`user${user}`, { at: user }] as const);
  for (const [user, data] of all) hall.here.set(user, data);
  hall.updates.watch('hall');
  hall.change((here) => here.set('one more', undefined));
  expect(hall.updates.toldOf('hall')).toEqual({ members: MAX_NAMED + 1 });
  hall.change((here) => here.set('and another', undefined));
  hall.change((here) => {
    here.delete('one more');
    here.delete('and another');
  });
  expect(hall.told).toEqual([
    { members: MAX_NAMED + 1 },
    { members: MAX_NAMED + 2 },
    { members: MAX_NAMED, joined: all, changed: [], left: [] },
  ]);
});

test('updates wait while the worker is busy, and lose no change', () => {
  const hall = new Hall();
  hall.isBusy = true;
  hall.change((here) => here.set('ada', undefined), 1000);
  hall.change((here) => here.set('ben', undefined), 1000);
  expect(hall.told).toEqual([]);
  hall.isBusy = false;
  jest.advanceTimersByTime(300);
  expect(hall.told).toMatchObject([
    {
      joined: [
        ['ada', undefined],
        ['ben', undefined],
      ],
    },
  ]);
});

test('what nobody watches is neither told nor kept', () => {
  const hall = new Hall();
  hall.updates.watch('hall');
  hall.isWatched = false;
  hall.change((here) => here.set('ada', undefined));
  hall.isWatched = true;
  hall.change((here) => here.set('ben', undefined));
  expect(hall.told).toMatchObject([
    {
      joined: [
        ['ada', undefined],
        ['ben', undefined],
      ],
    },
  ]);
});

test('numbers of sockets are told when they change, and with what else has changed', () => {
  const hall = new Hall();
  const none = { members: 1, joined: [], changed: [], left: [] };
  hall.sockets.set('ada', 2);
  hall.change((here) => here.set('ada', undefined));
  hall.change(() => hall.sockets.set('ada', 3));
  hall.change(() => {});
  hall.change(() => hall.sockets.clear());
  expect(hall.told).toEqual([
    { ...none, joined: [['ada', undefined]], sockets: [['ada', 2]] },
    { ...none, sockets: [['ada', 3]] },
    { ...none, sockets: [] },
  ]);
});
