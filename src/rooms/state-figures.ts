/** What the metrics report about the state rooms of this worker. */
export interface StateFigures {
  rooms: number;
  keys: number;
  /** Of keys and values, encoded. */
  bytes: number;
  members: number;
  /** Members that lack something that others have got. */
  behind: number;
  /** Members without a pace that have been behind for long. */
  behindLong: number;
  /** These three since the start, of closed rooms too. */
  changes: number;
  conflated: number;
  savedBytes: number;
  /** Keys whose changes are not stored yet. */
  unstored: number;
}

/** A state room as the metrics see it. */
export interface MeasuredStateRoom {
  readonly name: string;
  /** The share of its bounds that is in use, of keys or of bytes: 0 to 1. */
  readonly fullness: number;
  stats(): Omit<StateFigures, 'rooms'>;
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
