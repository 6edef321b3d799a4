import { within } from '../../base/within.js';

/** What a state room counts. */
export interface StateRoomStats {
  keys: number;
  /** Bytes of all keys and their encoded values. */
  bytes: number;
  /** Members on this worker. */
  members: number;
  /** Members of this worker that lack changes that the other members have received. */
  behind: number;
  /** Members of this worker without `maxRate` that have been behind for more than 30 s. */
  behindLong: number;
  /** Changes since the start, including those of other workers. */
  changes: number;
  /** Changes that members of this worker did not receive because a later change replaced them, summed over all members. */
  conflated: number;
  /** About how many bytes `conflated` has saved. */
  savedBytes: number;
  /** Keys that this worker has changed and not stored yet; 0 without a store. */
  unstored: number;
}

/** What the metrics report about the state rooms of this worker: sums, with the changes of closed rooms too. */
export interface StateFigures extends StateRoomStats {
  rooms: number;
}

/** A state room as the metrics see it. */
export interface MeasuredStateRoom {
  readonly name: string;
  /** The share of its bounds that is in use, of keys or of bytes: 0 to 1. */
  readonly fullness: number;
  stats(): StateRoomStats;
}

/** From this share of a bound on, a room is nearly full. */
const NEARLY_FULL = 0.9;
const SINCE_START = ['changes', 'conflated', 'savedBytes'] as const;

/** The state rooms of this worker, of all its servers. */
class StateRooms {
  private readonly open = new Set<MeasuredStateRoom>();
  private readonly closed = { changes: 0, conflated: 0, savedBytes: 0 };
  private isUsed = false;

  add(room: MeasuredStateRoom): void {
    this.isUsed = true;
    this.open.add(room);
  }

  remove(room: MeasuredStateRoom): void {
    if (!this.open.delete(room)) return;
    const stats = room.stats();
    for (const name of SINCE_START) this.closed[name] += stats[name];
  }

  /** Undefined if there has never been one. */
  figures(): StateFigures | undefined {
    if (!this.isUsed) return undefined;
    const gauges = { keys: 0, bytes: 0, members: 0, behind: 0, behindLong: 0, unstored: 0 };
    const sum: StateFigures = { rooms: this.open.size, ...gauges, ...this.closed };
    for (const room of this.open) {
      const stats = room.stats();
      for (const name of Object.keys(stats) as (keyof typeof stats)[]) sum[name] += stats[name];
    }
    return sum;
  }

  /** The share of the fullest room's bounds that is in use; undefined without rooms. */
  get fullness(): number | undefined {
    return this.fullest?.fullness;
  }

  /** What operators should know; undefined if no room is nearly full. */
  get warning(): string | undefined {
    const { fullest } = this;
    if (!fullest || fullest.fullness < NEARLY_FULL) return undefined;
    return `the state room "${fullest.name}" is nearly full: beyond its bounds, set() throws STATE_FULL`;
  }

  private get fullest(): MeasuredStateRoom | undefined {
    let fullest: MeasuredStateRoom | undefined;
    for (const room of this.open) if (!fullest || room.fullness > fullest.fullness) fullest = room;
    return fullest;
  }
}

export const stateRooms = new StateRooms();

/** What the metrics report about stores of one kind. `up` is 0 while one of them fails; the others count since the start. */
type StoreFigures<Name extends string> = { up: number } & Record<Name, number>;

/** A store as the metrics see it. */
interface MeasuredStore<Name extends string> {
  readonly figures: StoreFigures<Name>;
}

/** The stores of one kind in this process. */
class Stores<Name extends string, Store extends MeasuredStore<Name>> {
  protected readonly open = new Set<Store>();
  private readonly closed: Record<Name, number>;

  constructor(private readonly names: readonly Name[]) {
    this.closed = Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
  }

  add(store: Store): void {
    this.open.add(store);
  }

  remove(store: Store): void {
    if (this.open.delete(store)) this.addTo(this.closed, store.figures);
  }

  /** Of all stores, closed ones included; undefined while none is open. */
  figures(): StoreFigures<Name> | undefined {
    if (this.open.size === 0) return undefined;
    const sum = { ...this.closed };
    let up = 1;
    for (const { figures } of this.open) {
      up = Math.min(up, figures.up);
      this.addTo(sum, figures);
    }
    return { ...sum, up };
  }

  private addTo(sum: Record<Name, number>, figures: Record<Name, number>): void {
    for (const name of this.names) sum[name] += figures[name];
  }
}

export type StateStoreFigures = StoreFigures<'written' | 'failures' | 'outages' | 'losses'>;

/** A connection of state rooms to Redis, as the metrics see it. */
export interface MeasuredStateStore {
  readonly figures: StateStoreFigures;
  /** Resolves once everything is stored. */
  flushed(): Promise<void>;
}

class StateStores extends Stores<'written' | 'failures' | 'outages' | 'losses', MeasuredStateStore> {
  /** Resolves once everything is stored, or after a time. Call it before the process ends. */
  async flushed(maxWaitMs: number): Promise<void> {
    if (this.open.size === 0) return;
    await within(maxWaitMs, Promise.all([...this.open].map((store) => store.flushed())));
  }
}

/** The Redis of the state rooms of this process. */
export const stateStores = new StateStores(['written', 'failures', 'outages', 'losses']);

type DurableName = 'failures' | 'outages';
export type DurableFigures = StoreFigures<DurableName>;

/** The stores of the durable rooms of this process. */
export const durableStores = new Stores<DurableName, MeasuredStore<DurableName>>(['failures', 'outages']);

/** Losses that were found, and new epochs of conversations by what became of the messages that were delivered. */
type LossName = 'losses' | 'continued' | 'uncertain' | 'lost';
export type LossFigures = StoreFigures<LossName>;

/** The stores of messages of this process, those of durable rooms and that of the chat. */
export const lossyStores = new Stores<LossName, MeasuredStore<LossName>>(['losses', 'continued', 'uncertain', 'lost']);
