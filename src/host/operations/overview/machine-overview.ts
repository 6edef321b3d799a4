import type { MachineFigures } from '../metrics/machine-figures.js';
import { type Counts, countsOf, type KeptFigures, type Overview, type OverviewFacts, overviewOf } from './overview.js';

/** The figures of five minutes are kept. */
export const HISTORY = { intervalMs: 5000, length: 60 } as const;

/** The overview of a machine, and the course of its figures. */
export class MachineOverview {
  private before: ReadonlyMap<number, Counts> = new Map();
  private latest: { figures: KeptFigures; at: number } | undefined;
  private readonly course: KeptFigures[] = [];

  constructor(
    private readonly machine: Pick<MachineFigures, 'reports'>,
    private readonly facts: () => OverviewFacts,
  ) {}

  /** Reads the overview. Its rates are those since workers were asked before. */
  async read(): Promise<Overview> {
    const overview = await this.look(true);
    const names = Object.keys(overview.figures) as (keyof KeptFigures)[];
    const columns = names.map((name) => [name, this.course.map((figures) => figures[name] ?? null)]);
    return { ...overview, history: { intervalMs: HISTORY.intervalMs, figures: Object.fromEntries(columns) } };
  }

  /** Keeps the present figures. Asks the workers only if the overview was not read lately. */
  async keep(): Promise<void> {
    const { latest } = this;
    const isFresh = latest && performance.now() - latest.at < HISTORY.intervalMs;
    this.course.push(isFresh ? latest.figures : (await this.look(false)).figures);
    if (this.course.length > HISTORY.length) this.course.shift();
  }

  private async look(hasLists: boolean): Promise<Omit<Overview, 'history'>> {
    const reports = await this.machine.reports('overview', hasLists);
    const overview = overviewOf(reports, this.before, this.facts());
    this.before = new Map([...reports].flatMap(([id, report]) => (report ? [[id, countsOf(report)] as const] : [])));
    // The first rates are averages since the start of the workers.
    if (hasLists) this.latest = { figures: overview.figures, at: performance.now() };
    return overview;
  }
}
