import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { MAX_NAMED, type PresenceMessage, PresenceRegistry } from '../../../src/features/presence/registry.js';
import type { OpenService } from '../../../src/io/rooms/index.js';

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

type Listener = Parameters<OpenService>[0];

/** Rosters that tell each other, and whose links can be cut. */
class Wire {
  private readonly listeners = new Map<string, Listener>();
  private readonly cut = new Set<string>();

  add(id: string, changed: (room: string) => void = () => {}): PresenceRegistry {
    return new PresenceRegistry((listener) => {
      this.listeners.set(id, listener);
      this.toOthers(id, (other) => other.onHere(id, true));
      return {
        send: (message, to) =>
          this.toOthers(id, (other, name) => {
            if (to === undefined || to === name) other.onMessage(structuredClone(message), id);
          }),
        close: () => {},
      };
    }, changed);
  }

  /** It is gone for all others, and they are for it. */
  cutOff(id: string): void {
    this.cut.add(id);
    for (const [name, listener] of this.listeners) {
      if (name === id) continue;
      listener.onGone(id);
      this.listeners.get(id)!.onGone(name);
    }
  }

  mend(id: string): void {
    this.cut.delete(id);
    this.toOthers(id, (other, name) => {
      other.onHere(id, false);
      this.listeners.get(id)!.onHere(name, false);
    });
  }

  private toOthers(from: string, tell: (listener: Listener, name: string) => void): void {
    setTimeout(() => {
      if (this.cut.has(from)) return;
      for (const [name, listener] of this.listeners) if (name !== from && !this.cut.has(name)) tell(listener, name);
    }, 1);
  }
}

const users = (roster: PresenceRegistry, room = 'hall') => [...roster.usersOf(room).users.keys()].sort();

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
    const sockets = new Map([['Astrid', 2]]);
    expect(a.usersOf('hall')).toEqual({ members: 1, users: new Map([['Astrid', undefined]]), sockets });
    a.remove('hall', 'Astrid');
    jest.advanceTimersByTime(100);
    expect(b.usersOf('hall')).toMatchObject({ members: 1, sockets: new Map() });
  });

  test('makes good what was lost when workers meet again', () => {
    const wire = new Wire();
    const [a, b] = [wire.add('a'), wire.add('b')];
    a.add('hall', 'Astrid');
    jest.advanceTimersByTime(100);
    expect([users(b), users(b, 'yard')]).toEqual([['Astrid'], []]);
    wire.cutOff('b');
    a.remove('hall', 'Astrid');
    a.add('yard', 'Astrid');
    jest.advanceTimersByTime(100);
    expect([users(b), users(b, 'yard')]).toEqual([[], []]);
    wire.mend('b');
    jest.advanceTimersByTime(2);
    expect([users(b), users(b, 'yard')]).toEqual([[], ['Astrid']]);
  });

  test('forgets at once who is gone, and who says goodbye', () => {
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
    changed.mockClear();
    wire.cutOff('a');
    expect(users(b)).toEqual([]);
    expect(changed).toHaveBeenCalledWith('hall');
  });

  test('takes rooms and users of any name', () => {
    const wire = new Wire();
    const [a, b] = [wire.add('a'), wire.add('b')];
    const rooms = ['constructor', 'hasOwnProperty', '__proto__', 'toString', 'plain', 'half a \ud800', '\0'];
    for (const room of rooms) {
      for (const user of rooms) a.add(room, user);
      a.add(room, 'named', 'constructor');
    }
    jest.advanceTimersByTime(100);
    const late = wire.add('c');
    jest.advanceTimersByTime(2);
    for (const roster of [b, late]) {
      expect([...roster.rooms()]).toEqual(rooms);
      for (const room of rooms)
        expect([...roster.usersOf(room).users.keys()].sort()).toEqual([...rooms, 'named'].sort());
    }
    for (const user of rooms) a.remove('plain', user);
    jest.advanceTimersByTime(100);
    expect(users(b, 'plain')).toEqual(['named']);
  });

  test('counts the sockets of a user on all workers, and none twice that goes on on another worker', () => {
    const wire = new Wire();
    const [a, b] = [wire.add('a'), wire.add('b')];
    const counted: unknown[] = [];
    const c = wire.add('c', () => counted.push([...c.usersOf('hall').sockets].join()));
    for (const roster of [a, a, b]) roster.add('hall', 'Astrid');
    jest.advanceTimersByTime(100);
    expect(c.usersOf('hall').sockets).toEqual(new Map([['Astrid', 3]]));
    a.remove('hall', 'Astrid');
    b.remove('hall', 'Astrid');
    jest.advanceTimersByTime(100);
    counted.length = 0;
    a.move('hall', 'Astrid', 1000);
    jest.advanceTimersByTime(500);
    expect(users(c)).toEqual(['Astrid']);
    b.add('hall', 'Astrid');
    jest.advanceTimersByTime(1000);
    expect([users(c), users(a), counted.join()]).toEqual([['Astrid'], ['Astrid'], counted.map(() => '').join()]);
    b.remove('hall', 'Astrid');
    jest.advanceTimersByTime(100);
    expect(users(c)).toEqual([]);
  });

  test('tells a number where one worker has too many to name', () => {
    const wire = new Wire();
    const [a, b] = [wire.add('a'), wire.add('b')];
    for (let user = 0; user <= MAX_NAMED; user++) a.add('hall', `user${user}`);
    b.add('hall', 'Bjørn');
    jest.advanceTimersByTime(100);
    expect(b.usersOf('hall')).toMatchObject({ members: MAX_NAMED + 2, users: new Map([['Bjørn', undefined]]) });
    const late = wire.add('c');
    jest.advanceTimersByTime(2);
    a.remove('hall', 'user0');
    jest.advanceTimersByTime(100);
    for (const roster of [b, late]) expect(roster.usersOf('hall').users.size).toBe(MAX_NAMED + 1);
  });
});

describe('the data of users', () => {
  const dataIn = (roster: PresenceRegistry) => Object.fromEntries(roster.usersOf('hall').users);

  test('reaches the other workers, those that start later too, and leaves with its users', () => {
    const wire = new Wire();
    const [a, b] = [wire.add('a'), wire.add('b')];
    a.add('hall', '__proto__', 'Astrid A.');
    a.add('hall', 'bjorn');
    b.add('hall', 'chen', { name: 'Chen C.', away: null });
    jest.advanceTimersByTime(100);
    const late = wire.add('c');
    jest.advanceTimersByTime(2);
    const all = Object.fromEntries([
      ['__proto__', 'Astrid A.'],
      ['bjorn', undefined],
      ['chen', { name: 'Chen C.', away: null }],
    ]);
    for (const roster of [a, b, late]) expect(dataIn(roster)).toEqual(all);
    a.remove('hall', '__proto__');
    b.update('hall', 'chen', 'Chen D.');
    b.update('hall', 'nobody here', 'No One');
    jest.advanceTimersByTime(100);
    for (const roster of [a, b, late]) expect(dataIn(roster)).toEqual({ bjorn: undefined, chen: 'Chen D.' });
    b.update('hall', 'chen', undefined);
    jest.advanceTimersByTime(100);
    for (const roster of [a, b, late]) expect(dataIn(roster)).toStrictEqual({ bjorn: undefined, chen: undefined });
  });

  test('is not sent where the names of the users are not, and what has not changed is not sent again', () => {
    const sent: PresenceMessage[] = [];
    const channel = { send: (message: unknown) => sent.push(message as PresenceMessage), close: () => {} };
    const roster = new PresenceRegistry(
      () => channel,
      () => {},
    );
    const next = (): unknown => {
      jest.advanceTimersByTime(100);
      return sent.at(-1)!.rooms;
    };
    roster.add('yard', 'bjorn');
    expect(next()).toEqual([['yard', [['bjorn', 1]], []]]);
    roster.add('yard', 'chen', 'Chen C.');
    expect(next()).toEqual([['yard', [['chen', 1, 'Chen C.']], []]]);
    const before = sent.length;
    roster.update('yard', 'chen', 'Chen C.');
    jest.advanceTimersByTime(100);
    expect(sent).toHaveLength(before);
    roster.remove('yard', 'bjorn');
    expect(next()).toEqual([['yard', [], ['bjorn']]]);
    for (let user = 0; user <= MAX_NAMED; user++) roster.add('hall', `user${user}`, `User ${user}`);
    expect(next()).toEqual([['hall', MAX_NAMED + 1]]);
    // From now on, the others can know them all again.
    roster.remove('hall', 'user0');
    expect(next()).toMatchObject([['hall', { length: MAX_NAMED }]]);
    roster.close();
  });
});
