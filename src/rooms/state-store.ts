/** What the metrics report about the Redis that state rooms are stored in. */
export interface StateStoreFigures {
  /** 0 while a room cannot be stored. */
  up: number;
  written: number;
  failures: number;
  outages: number;
  losses: number;
}

/** A connection of state rooms to Redis, as the metrics see it. */
export interface MeasuredStateStore {
  readonly figures: StateStoreFigures;
  /** Resolves once everything is stored. */
  flushed(): Promise<void>;
}

/** What the process that hosts the application does for state rooms that are stored. */
export interface StateStoreHost {
  /** The Redis of rooms that name none; undefined if there is none. */
  readonly redisUrl: string | undefined;
  /** The prefix of the keys of rooms that name none. */
  readonly keyPrefix: string;
  /** Rooms cannot be stored. Called again when the reason changes; `former` is the problem until then. */
  onDown(problem: string, reason: string, former: string | undefined): void;
  onUp(problem: string): void;
  /** Redis has lost what it had. */
  onLost(warning: string, room: string): void;
}

/** The stores of the state rooms of this process. */
class StateStores {
  host: StateStoreHost | undefined;
  private readonly open = new Set<MeasuredStateStore>();
  private readonly closed = { written: 0, failures: 0, outages: 0, losses: 0 };

  add(store: MeasuredStateStore): void {
    this.open.add(store);
  }

  remove(store: MeasuredStateStore): void {
    if (!this.open.delete(store)) return;
    const { figures } = store;
    for (const name of Object.keys(this.closed) as (keyof typeof this.closed)[]) this.closed[name] += figures[name];
  }

  /** Undefined while no room is stored. */
  figures(): StateStoreFigures | undefined {
    if (this.open.size === 0) return undefined;
    const sum = { up: 1, ...this.closed };
    for (const { figures } of this.open) {
      sum.up = Math.min(sum.up, figures.up);
      for (const name of Object.keys(this.closed) as (keyof typeof this.closed)[]) sum[name] += figures[name];
    }
    return sum;
  }

  /** Resolves once everything is stored, or after a time. Call it before the process ends. */
  async flushed(maxWaitMs: number): Promise<void> {
    if (this.open.size === 0) return;
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, maxWaitMs);
    });
    await Promise.race([Promise.all([...this.open].map((store) => store.flushed())), timeout]);
    clearTimeout(timer);
  }
}

export const stateStores = new StateStores();
