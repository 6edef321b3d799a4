import { StateMap } from '../../public/gjallar-client.js';
import { createStateRoom, type StateRoom } from '../../src/features/state/index.js';
import type { ClientSocket } from './client-socket.js';
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

/** Keys that go with a worker begin with it. */
const OWNED = 'own';
/** How many keys are set and deleted at once. */
const CHURN = 30;

/** Which all workers patch when they start. */
const STARTS = 'starts';
/** Near the end of a hub, a patch may set the whole value that its worker knows, in ms. */
const BEFORE_HUB_MS = 1000;
const AFTER_HUB_MS = 3000;

/** A call of patch() that has succeeded. Each one sets a field of its own. */
interface Patch {
  readonly key: string;
  readonly field: string;
  readonly atMs: number;
}

interface Write {
  readonly worker: string;
  /** Undefined if it deletes the key. */
  readonly value: string | undefined;
  readonly atMs: number;
  /** Whether it may have been lost with its worker. */
  isDoubtful: boolean;
}

/** What a worker sets in the moment before it is killed, in ms: it leaves at the end of the turn. */
const DOUBT_MS = 1;

/** The rooms of all workers, what is written in them, and what each worker has seen. */
export class States {
  private readonly rooms = new Map<string, StateRoom>();
  private readonly writes = new Map<string, Write[]>();
  private readonly swaps: Swap[] = [];
  private readonly patches: Patch[] = [];
  private readonly hubsDownMs: number[] = [];
  private readonly maps = new Map<string, StateMap>();
  /** By worker and key. */
  private readonly seen = new Map<string, { last: unknown; readonly before: Set<unknown> }>();
  private order = 0;

  constructor(
    private readonly now: () => number,
    private readonly fail: (error: unknown) => void,
    private readonly hasPatches = false,
  ) {}

  open({ io, name }: Worker): void {
    const room = createStateRoom(io!, 'values', { mayJoin: () => true, maxKeys: 20 });
    this.rooms.set(name, room);
    // Before the room is ready.
    if (this.hasPatches) void this.patch(name, STARTS).catch(this.fail);
    room.on('change', (keys) => {
      for (const key of keys) this.see(name, key, room.get(key));
    });
  }

  /**
   * A client shows the values, with the helper of `gjallar/client`.
   * @param isAlone whether there is one machine: during an outage, a client that moves to another one may see older values
   */
  follow(client: string, socket: ClientSocket, isAlone: boolean): void {
    const map = new StateMap(socket as never, 'values');
    this.maps.set(client, map);
    map.on('error', this.fail);
    if (!isAlone) return;
    map.on('change', (keys) => {
      try {
        for (const key of keys) this.see(client, key, map.get(key));
      } catch (error) {
        this.fail(error);
      }
    });
  }

  /** No worker, and no client of one machine, sees a value again after another one. */
  private see(who: string, key: string, value: unknown): void {
    const id = `${who} ${key}`;
    if (typeof value === 'object') return;
    const known = this.seen.get(id) ?? { last: undefined, before: new Set() };
    this.seen.set(id, known);
    // A partition takes an owned key away, and brings it back.
    if (known.last === value || (key.startsWith(OWNED) && value === undefined)) return;
    if (value !== undefined && known.before.has(value))
      throw new Violation('older value', `${who} has ${key}=${value} after ${known.last}`);
    known.before.add(known.last);
    known.last = value;
  }

  set(worker: string, number: number): void {
    const key = `set${number}`;
    const value = this.write(worker, key);
    this.rooms.get(worker)?.set(key, value);
  }

  delete(worker: string, number: number): void {
    const key = `set${number}`;
    // A key that this worker does not know, it does not delete.
    if (this.rooms.get(worker)?.delete(key)) this.write(worker, key, true);
  }

  /** Sets a key that goes with the worker. */
  own(worker: string, number: number): void {
    const key = `${OWNED}${number}`;
    const value = this.write(worker, key);
    this.rooms.get(worker)?.set(key, value, { owned: true });
  }

  /** Deletes more keys than the room remembers. */
  churn(worker: string): void {
    const room = this.rooms.get(worker);
    for (let number = 0; number < CHURN; number++) {
      room?.set(`churn${number}`, worker);
      room?.delete(`churn${number}`);
    }
  }

  private write(worker: string, key: string, isDeletion = false): string {
    const value = `${worker}:${++this.order}`;
    const write = { worker, value: isDeletion ? undefined : value, atMs: this.now(), isDoubtful: false };
    this.writes.set(key, [...(this.writes.get(key) ?? []), write]);
    return value;
  }

  /** Sets a field. */
  async patch(worker: string, key: string): Promise<void> {
    const field = `${worker}:${++this.order}`;
    const atMs = this.now();
    await this.rooms.get(worker)?.patch(key, { [field]: 1 });
    this.patches.push({ key, field, atMs });
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
      for (const one of ofKey) if (one.worker === worker && one.atMs > runningMs - DOUBT_MS) one.isDoubtful = true;
  }

  /** The hub is down. What no worker has that is left is lost: all who had it were killed soon after each other. */
  hubDown(): void {
    this.hubsDownMs.push(this.now());
    const isKept = (key: string, value: string | undefined) =>
      [...this.rooms.values()].some((room) => room.get(key) === value);
    for (const [key, ofKey] of this.writes) {
      for (const write of [...ofKey].reverse()) {
        if (isKept(key, write.value)) break;
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
    const values = (room: { entries(): Iterable<unknown> }) => JSON.stringify([...room.entries()].sort());
    for (const [name, room] of [...others, ...this.maps]) {
      if (values(room) !== values(first[1]))
        throw new Violation('not the same', `${first[0]} has ${values(first[1])}, ${name} has ${values(room)}`);
    }
    // Between machines, the last value of a key counts as a whole.
    if (isAlone) this.hasAllPatches(first[1]);
    for (const [key, ofKey] of this.writes) {
      const found = first[1].get(key) as string | undefined;
      if (!this.mayBe(found, key, ofKey, isAlone))
        throw new Violation('not the newest', `${key}=${found} of ${ofKey.map(({ value }) => value)}`);
    }
  }

  private hasAllPatches(room: StateRoom): void {
    for (const { key, field, atMs } of this.patches) {
      if (this.hubsDownMs.some((downMs) => atMs > downMs - BEFORE_HUB_MS && atMs < downMs + AFTER_HUB_MS)) continue;
      const found = room.get(key) as Record<string, number> | undefined;
      if (!found?.[field]) throw new Violation('patch', `${key} has no ${field}: ${JSON.stringify(found)}`);
    }
  }

  /** Whether a key may have a value in the end: that of the last write, or of one that was made at the same time. */
  private mayBe(found: string | undefined, key: string, all: readonly Write[], isAlone: boolean): boolean {
    const left = ({ worker, value }: Write) => (key.startsWith(OWNED) && !this.rooms.has(worker) ? undefined : value);
    const isSure = all.some(({ isDoubtful }) => !isDoubtful);
    if (!isSure && found === undefined) return true;
    // Between machines, the last one is not defined.
    const lastMs = isAlone ? Math.max(...all.map(({ isDoubtful, atMs }) => (isDoubtful ? 0 : atMs))) : 0;
    return all.some((one) => one.atMs >= lastMs && left(one) === found);
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
