import { createStateRoom, type StateRoom } from '../../src/features/state/index.js';
import type { Worker } from './machine.js';
import { Violation } from './model.js';

/** A call of compareAndSet(). */
interface Swap {
  readonly key: string;
  readonly expected: string | undefined;
  readonly value: string;
  readonly began: number;
  /** When it was answered; undefined if that is not known. */
  ended: number | undefined;
  isDone: boolean | undefined;
  /** Whether all who had the value were killed. */
  isLost?: boolean;
}

interface Write {
  readonly worker: string;
  readonly order: number;
  readonly atMs: number;
  /** Whether it may have been lost with its worker. */
  isDoubtful: boolean;
}

/** What a worker sets in the moment before it is killed, in ms: it leaves at the end of the turn. */
const DOUBT_MS = 1;

/** The rooms of all workers, what is written in them, and what each worker has seen. */
export class States {
  private readonly rooms = new Map<string, StateRoom>();
  private readonly writes = new Map<string, Map<string, Write>>();
  private readonly swaps: Swap[] = [];
  /** By worker and key. */
  private readonly seen = new Map<string, { last: unknown; readonly before: Set<unknown> }>();
  private order = 0;

  constructor(private readonly now: () => number) {}

  open({ io, name }: Worker): void {
    const room = createStateRoom(io!, 'values');
    this.rooms.set(name, room);
    room.on('change', (keys) => {
      for (const key of keys) this.see(name, key, room.get(key));
    });
  }

  /** No worker sees a value again after another one. */
  private see(worker: string, key: string, value: unknown): void {
    const id = `${worker} ${key}`;
    const known = this.seen.get(id) ?? { last: undefined, before: new Set() };
    this.seen.set(id, known);
    if (known.last === value || value === undefined) return;
    if (known.before.has(value))
      throw new Violation('older value', `${worker} has ${key}=${value} after ${known.last}`);
    known.before.add(known.last);
    known.last = value;
  }

  set(worker: string, number: number): void {
    const room = this.rooms.get(worker);
    if (!room) return;
    const key = `set${number}`;
    const value = `${worker}:${++this.order}`;
    const ofKey = this.writes.get(key) ?? new Map<string, Write>();
    this.writes.set(key, ofKey.set(value, { worker, order: this.order, atMs: this.now(), isDoubtful: false }));
    room.set(key, value);
  }

  /** @param key of one machine alone: between machines, it is not atomic */
  async swap(worker: string, key: string): Promise<void> {
    const room = this.rooms.get(worker);
    if (!room) return;
    const expected = room.get(key) as string | undefined;
    const value = `${worker}:${++this.order}`;
    const swap: Swap = { key, expected, value, began: this.order, ended: undefined, isDone: undefined };
    this.swaps.push(swap);
    try {
      swap.isDone = await room.compareAndSet(key, expected, value);
      swap.ended = ++this.order;
    } catch (error) {
      if ((error as { code?: string }).code !== 'OVERLOADED') throw error;
    }
  }

  killed(worker: string, runningMs: number): void {
    this.rooms.delete(worker);
    for (const ofKey of this.writes.values())
      for (const one of ofKey.values())
        if (one.worker === worker && one.atMs > runningMs - DOUBT_MS) one.isDoubtful = true;
  }

  /** The hub is down. What no worker has that is left is lost: all who had it were killed soon after each other. */
  hubDown(): void {
    const isKept = (key: string, value: string) => [...this.rooms.values()].some((room) => room.get(key) === value);
    for (const [key, ofKey] of this.writes) {
      for (const [value, write] of [...ofKey].reverse()) {
        if (isKept(key, value)) break;
        write.isDoubtful = true;
      }
    }
    for (const swap of [...this.swaps].reverse()) {
      const { key, value, isDone } = swap;
      const isReplaced = this.swaps.some(
        (one) => one.isDone && !one.isLost && one.key === key && one.expected === value,
      );
      if (isDone && !isReplaced && !isKept(key, value)) swap.isLost = true;
    }
  }

  /** @param isAlone whether there is one machine, which orders all writes */
  complete(isAlone: boolean): void {
    this.swapsAreAtomic();
    const [first, ...others] = this.rooms;
    if (!first) return;
    const values = (room: StateRoom) => JSON.stringify([...room.entries()].sort());
    for (const [name, room] of others) {
      if (values(room) !== values(first[1]))
        throw new Violation('not the same', `${first[0]} has ${values(first[1])}, ${name} has ${values(room)}`);
    }
    for (const [key, ofKey] of this.writes) {
      const found = first[1].get(key) as string | undefined;
      const known = ofKey.get(found ?? '');
      const later = [...ofKey].filter(([, one]) => !one.isDoubtful && one.atMs > (known?.atMs ?? 0));
      if (!known && later.length === 0) continue;
      if (!known || (isAlone && later.length > 0))
        throw new Violation('not the newest', `${key}=${found}, and not ${later.map(([value]) => value)}`);
    }
  }

  /** Of each key, successful calls form a chain, in the order of time, and those that fail have met another value. */
  private swapsAreAtomic(): void {
    const done = this.swaps.filter(({ isDone, isLost }) => isDone && !isLost);
    const byExpected = new Map<string, Swap>();
    const byValue = new Map<string, Swap>();
    const of = (key: string, value: string | undefined) => `${key} ${value}`;
    for (const swap of done) {
      const id = of(swap.key, swap.expected);
      if (byExpected.has(id)) throw new Violation('atomic', `two calls have replaced ${id}`);
      byExpected.set(id, swap);
      byValue.set(of(swap.key, swap.value), swap);
    }
    for (const { key, expected, began, ended, isDone } of this.swaps) {
      const before = byValue.get(of(key, expected));
      if (isDone && before && before.began > ended!)
        throw new Violation('atomic', `${key}: ${expected} was replaced before it was set`);
      if (isDone !== false || !before?.ended || before.ended > began) continue;
      const mayBeReplaced = this.swaps.some(
        (one) => one.key === key && one.expected === expected && one.isDone !== false && one.began < ended!,
      );
      if (!mayBeReplaced) throw new Violation('atomic', `${key}: ${expected} was there, and a call has failed`);
    }
  }
}
