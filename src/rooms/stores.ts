/** What the metrics report about stores of one kind. `up` is 0 while one of them fails; the others count since the start. */
export type StoreFigures<Name extends string> = { up: number } & Record<Name, number>;

/** A store as the metrics see it. */
export interface MeasuredStore<Name extends string> {
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
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, maxWaitMs);
    });
    await Promise.race([Promise.all([...this.open].map((store) => store.flushed())), timeout]);
    clearTimeout(timer);
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
