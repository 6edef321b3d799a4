import { figureKinds } from '../../../base/figure-table.js';
import { type Figure, isCount, Totals } from '../../../base/figures.js';
import { socketsInUse } from '../../../engine/uws/uws.js';
import { type MachineFacts, machineHealth } from '../admin/machine-health.js';
import type { WorkerReport } from '../overview/worker-report.js';
import { textOf } from './text.js';

/** What the primary knows by itself. */
export interface PrimaryFacts extends MachineFacts {
  readonly version: string;
  /** The number of workers that have died since the start. */
  readonly deaths: number;
  /** The reloads since the start, by their outcome. */
  readonly reloads: { readonly finished: number; readonly aborted: number };
}

/** The answers by worker; undefined for one that does not answer in time. */
export type ReportsByWorker = ReadonlyMap<number, WorkerReport | undefined>;

/** What asks the workers. Each reader learns of the longest delays since it has asked last. */
type Reader = 'metrics' | 'overview';

/**
 * The figures of a machine. The primary asks each worker one question over the channel of its process: that reaches a worker
 * even if its links to others are cut, and one that is stuck delays nothing but its own answer.
 */
export class MachineFigures {
  /** The latest counts of each worker. One that does not answer for a while must not make the sums fall. */
  private readonly counts = new Map<number, Figure[]>();
  /** Those of workers that have ended. */
  private readonly past = new Totals();
  private readonly unread: Record<Reader, Map<number, Totals>> = { metrics: new Map(), overview: new Map() };

  /**
   * @param ask asks all workers, with the lists for the operator's page or without them
   * @param facts what the primary knows at present
   */
  constructor(
    private readonly ask: (hasLists: boolean) => Promise<ReportsByWorker>,
    private readonly facts: () => PrimaryFacts,
  ) {}

  /** @param reader undefined for one that shows no delays */
  async reports(reader?: Reader, hasLists = false): Promise<ReportsByWorker> {
    const answers = new Map([...(await this.ask(hasLists))].map(([id, report]) => [id, report && withKnown(report)]));
    for (const [id, report] of answers) if (report) this.note(id, report.figures);
    for (const [id, counts] of this.counts) {
      if (answers.has(id)) continue;
      this.past.add(counts.filter(([name]) => figureKinds[name].rule !== 'worker'));
      this.counts.delete(id);
      for (const unread of Object.values(this.unread)) unread.delete(id);
    }
    const unread = reader && this.unread[reader];
    if (reader) this.unread[reader] = new Map();
    return new Map(
      [...answers].map(([id, report]) => {
        const others = report?.figures.filter((figure) => !isLongest(figure)) ?? [];
        return [id, report && { ...report, figures: [...others, ...(unread?.get(id)?.all ?? [])] }];
      }),
    );
  }

  /** The metrics in the text format of Prometheus. A worker that does not answer is reported as not up. */
  async metrics(): Promise<string> {
    const reports = await this.reports('metrics');
    const totals = new Totals().add(this.own(reports)).add(this.past.all);
    for (const [id, counts] of this.counts) totals.add(counts, id);
    for (const [id, report] of reports) totals.add(report?.figures.filter((one) => !isCount(one)) ?? [], id);
    return textOf(totals.all);
  }

  /** Takes the last figures of a worker that ends: it has done more since it was asked last. */
  ended(id: number, figures: readonly Figure[]): void {
    this.note(id, known(figures));
  }

  private note(id: number, figures: readonly Figure[]): void {
    this.counts.set(id, figures.filter(isCount));
    for (const unread of Object.values(this.unread)) {
      const totals = unread.get(id) ?? new Totals();
      unread.set(id, totals.add(figures.filter(isLongest)));
    }
  }

  private own(reports: ReportsByWorker): Figure[] {
    const facts = this.facts();
    const { version, deaths, reloads } = facts;
    const { problems } = machineHealth(healthOf(reports), facts);
    return [
      ['gjallar_build_info', [version, process.version, socketsInUse.kind], 1],
      ['gjallar_worker_deaths_total', [], deaths],
      ['gjallar_reloads_total', ['finished'], reloads.finished],
      ['gjallar_reloads_total', ['aborted'], reloads.aborted],
      ...[...reports].map(([id, report]): Figure => ['gjallar_worker_up', [String(id)], Number(report !== undefined)]),
      ...problems.map(({ code, text }): Figure => ['gjallar_problem', [code, text], 1]),
    ];
  }
}

/** A worker may be of a newer build, which a reload has started. */
function withKnown(report: WorkerReport): WorkerReport {
  return { ...report, figures: known(report.figures) };
}

const known = (figures: readonly Figure[]): Figure[] => figures.filter(([name]) => name in figureKinds);

const isLongest = ([name]: Figure): boolean => figureKinds[name].rule === 'longest';

export function healthOf(reports: ReportsByWorker): ReadonlyMap<number, WorkerReport['health'] | undefined> {
  return new Map([...reports].map(([id, report]) => [id, report?.health]));
}
