/** What the metrics report about the stores of durable rooms. */
export interface DurableFigures {
  /** 0 while a store fails. */
  up: number;
  failures: number;
  outages: number;
  losses: number;
}

/** Where the process that hosts the application reports what it cannot do; see `operations/reports.ts`. */
export interface DurableReports {
  log: {
    error(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    info(fields: object, message: string): void;
  };
  problems: Set<string>;
  warnings: { note(text: string, ms: number): void };
}

/** The stores of the durable rooms of this process. */
class DurableStores {
  /** Undefined in the library alone, which has `onError` only. */
  reports: DurableReports | undefined;
  private readonly open = new Set<{ readonly figures: DurableFigures }>();
  private readonly closed = { failures: 0, outages: 0, losses: 0 };

  /** Returns what takes it out again. */
  add(store: { readonly figures: DurableFigures }): () => void {
    this.open.add(store);
    return () => {
      if (this.open.delete(store)) addTo(this.closed, store.figures);
    };
  }

  /** Undefined while there are no durable rooms. */
  figures(): DurableFigures | undefined {
    if (this.open.size === 0) return undefined;
    const sum = { up: 1, ...this.closed };
    for (const { figures } of this.open) {
      sum.up = Math.min(sum.up, figures.up);
      addTo(sum, figures);
    }
    return sum;
  }
}

function addTo(sum: Omit<DurableFigures, 'up'>, { failures, outages, losses }: DurableFigures): void {
  sum.failures += failures;
  sum.outages += outages;
  sum.losses += losses;
}

export const durableStores = new DurableStores();
