import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { PresenceBroadcaster } from '../../src/chat/presence/broadcaster.js';
import { MAX_NAMED, PresenceRegistry } from '../../src/chat/presence/registry.js';
import type { Presence, PresenceRegistryMessage } from '../../src/chat/protocol.js';

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

/** Rosters that tell each other, some of whose messages can be lost. */
class Wire {
  readonly rosters = new Map<string, PresenceRegistry>();
  readonly cut = new Set<string>();

  add(id: string, changed: (room: string) => void = () => {}): PresenceRegistry {
    const roster = new PresenceRegistry(id, {
      send: (message) => this.tell(id, message),
      changed,
      gone: () => {},
      totals: () => ({ clients: id.charCodeAt(0), messages: 1 }),
    });
    this.rosters.set(id, roster);
    return roster;
  }

  private tell(from: string, message: PresenceRegistryMessage): void {
    setTimeout(() => {
      for (const [id, roster] of this.rosters) {
        if (id !== from && !this.cut.has(id) && !this.cut.has(from)) roster.receive(structuredClone(message));
      }
    }, 1);
  }
}

const users = (roster: PresenceRegistry, room = 'hall') => [...roster.usersOf(room).users].sort();

describe('the roster', () => {
  test('of one who comes late knows who is there', () => {
    const wire = new Wire();
    wire.add('a').add('hall', 'Astrid');
    jest.advanceTimersByTime(100);
    const late = wire.add('b');
    jest.advanceTimersByTime(2);
    expect(users(late)).toEqual(['Astrid']);
  });

  test('gathers changes, and counts a user on two workers once', () => {
    const wire = new Wire();
    const [a, b] = [wire.add('a'), wire.add('b')];
    a.add('hall', 'Astrid');
    b.add('hall', 'Astrid');
    b.add('hall', 'Bjørn');
    b.remove('hall', 'Bjørn');
    expect(users(a)).toEqual(['Astrid']);
    jest.advanceTimersByTime(100);
    expect(a.usersOf('hall')).toEqual({ members: 1, users: new Set(['Astrid']) });
    a.remove('hall', 'Astrid');
    jest.advanceTimersByTime(100);
    expect(b.usersOf('hall').members).toBe(1);
  });

  test('makes good what was lost with the next heartbeat', () => {
    const wire = new Wire();
    const [a, b] = [wire.add('a'), wire.add('b')];
    a.add('hall', 'Astrid');
    jest.advanceTimersByTime(100);
    wire.cut.add('b');
    a.remove('hall', 'Astrid');
    a.add('yard', 'Astrid');
    jest.advanceTimersByTime(100);
    wire.cut.clear();
    expect([users(b), users(b, 'yard')]).toEqual([['Astrid'], []]);
    jest.advanceTimersByTime(2100);
    expect([users(b), users(b, 'yard')]).toEqual([[], ['Astrid']]);
  });

  test('forgets who has been silent for more than six seconds, and at once who says goodbye', () => {
    const wire = new Wire();
    const changed = jest.fn();
    const [a, b, c] = [wire.add('a'), wire.add('b', changed), wire.add('c')];
    a.add('hall', 'Astrid');
    c.add('hall', 'Chen');
    jest.advanceTimersByTime(100);
    expect(users(b)).toEqual(['Astrid', 'Chen']);
    c.close();
    jest.advanceTimersByTime(1);
    expect(users(b)).toEqual(['Astrid']);
    wire.cut.add('a');
    changed.mockClear();
    jest.advanceTimersByTime(5000);
    expect(users(b)).toEqual(['Astrid']);
    jest.advanceTimersByTime(5000);
    expect(users(b)).toEqual([]);
    expect(changed).toHaveBeenCalledWith('hall');
  });

  test('tells a number where one worker has too many to name', () => {
    const wire = new Wire();
    const [a, b] = [wire.add('a'), wire.add('b')];
    for (let user = 0; user <= MAX_NAMED; user++) a.add('hall', `user${user}`);
    b.add('hall', 'Bjørn');
    jest.advanceTimersByTime(100);
    expect(b.usersOf('hall')).toEqual({ members: MAX_NAMED + 2, users: new Set(['Bjørn']) });
  });
});

describe('presence', () => {
  test('of a room is told four times a second at most, and not at all when nothing is left of a change', () => {
    const told: Presence[] = [];
    const here = new Set(['Witness']);
    const teller = new PresenceBroadcaster(
      { usersOf: () => ({ members: here.size, users: new Set(here) }) },
      (presence) => told.push(presence),
      () => true,
    );
    teller.watch('hall');
    for (let user = 0; user < 20; user++) {
      here.add(`user${user}`);
      teller.note('hall');
      jest.advanceTimersByTime(50);
    }
    jest.advanceTimersByTime(250);
    expect(told).toHaveLength(4);
    expect(told.flatMap(({ joined }) => joined)).toHaveLength(20);

    here.delete('user0');
    teller.note('hall');
    here.add('user0');
    teller.note('hall');
    jest.advanceTimersByTime(250);
    expect(told).toHaveLength(4);
  });
});
