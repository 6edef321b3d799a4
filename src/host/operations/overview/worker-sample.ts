import type { TopKey } from '../../../engine/top-keys.js';
import type { Health } from '../health.js';
import { type Figures, type Overview, overviewOf, type PrimaryFacts } from './overview.js';
import type { RecentEvent } from './recent-events.js';

/** Values that only grow. The primary computes rates from them. */
export interface WorkerCounts {
  /** Messages received from clients. */
  received: number;
  /** Messages sent to single clients. */
  sent: number;
  /** Messages sent to rooms. */
  broadcasts: number;
  /** Deliveries of the messages to rooms. */
  deliveries: number;
  /** Rejected clients and requests. */
  refused: number;
  /** Connections opened. */
  opened: number;
  /** CPU time, in ms. */
  cpu: number;
  /** Time for which the event loop was busy, in ms. */
  busy: number;
  /** Calls of the history, and how long they took together in ms. Both are 0 without a history. */
  appends: number;
  appendTime: number;
}

/** A room of Socket.IO on one worker or machine. */
export interface RoomFacts {
  namespace: string;
  /** The room as Socket.IO knows it, and as it is shown. */
  room: string;
  name: string;
  members: number;
  /** Broadcasts per second, approximately. */
  perSecond: number;
}

/** What a worker reports for the overview. All lists are bounded. */
export interface WorkerSample {
  readonly id: number;
  readonly pid: number;
  /** When the sample was taken, in ms on the worker's own clock, which started with the worker. */
  readonly at: number;
  readonly health: Health;
  readonly counts: WorkerCounts;
  /** Clients by transport. */
  readonly clients: Readonly<Record<string, number>>;
  /** Sockets by namespace. */
  readonly namespaces: Readonly<Record<string, number>>;
  /** Resident memory, in bytes. */
  readonly memory: number;
  /** Delay of the event loop in ms since the sample before; undefined for the first one. */
  readonly delay: { readonly p50: number; readonly p99: number; readonly max: number } | undefined;
  /** What gives way: 0 nothing, 1 volatile messages, 2 new clients, 3 new messages too. */
  readonly load: number;
  /** Bytes that wait for slow clients. */
  readonly buffered: number;
  /** Whether it keeps a history, counts how far messages go, and may have other machines: without, those counts stay 0. */
  readonly measures: { readonly history: boolean; readonly machines: boolean };
  /** How long clients took to answer a ping, in ms. */
  readonly roundTrips: readonly number[];
  readonly roomCount: number;
  /** The largest rooms, and those with the most broadcasts. */
  readonly rooms: readonly RoomFacts[];
  /** The users and the addresses that send the most messages. */
  readonly users: readonly TopKey[];
  readonly addresses: readonly TopKey[];
  readonly recent: readonly RecentEvent[];
  /** The workers of all machines; undefined if another worker of this machine counts them, or they cannot be counted. */
  readonly servers: number | undefined;
}

/**
 * Asks all workers for a sample, without lists if `isBrief`. The value is undefined for a worker that does not answer in time.
 */
export type AskWorkers = (isBrief: boolean) => Promise<ReadonlyMap<number, WorkerSample | undefined>>;

/** The figures of five minutes are kept. */
export const HISTORY = { intervalMs: 5000, length: 60 } as const;

/** The overview of a machine, and the course of its figures. */
export class MachineOverview {
  private before: ReadonlyMap<number, WorkerSample> = new Map();
  private latest: { figures: Figures; at: number } | undefined;
  private readonly course: Figures[] = [];

  constructor(
    private readonly ask: AskWorkers,
    private readonly facts: () => PrimaryFacts,
  ) {}

  /** Reads the overview. Its rates are those since workers were asked before. */
  async read(): Promise<Overview> {
    const overview = await this.sample(false);
    const names = Object.keys(overview.figures) as (keyof Figures)[];
    const columns = names.map((name) => [name, this.course.map((figures) => figures[name] ?? null)]);
    return { ...overview, history: { intervalMs: HISTORY.intervalMs, figures: Object.fromEntries(columns) } };
  }

  /** Keeps the present figures. Asks the workers only if nobody has read the overview lately. */
  async keep(): Promise<void> {
    const { latest } = this;
    const isFresh = latest && performance.now() - latest.at < HISTORY.intervalMs;
    this.course.push(isFresh ? latest.figures : (await this.sample(true)).figures);
    if (this.course.length > HISTORY.length) this.course.shift();
  }

  private async sample(isBrief: boolean): Promise<Omit<Overview, 'history'>> {
    const samples = await this.ask(isBrief);
    const overview = overviewOf(samples, this.before, this.facts());
    this.before = new Map([...samples].filter((entry): entry is [number, WorkerSample] => entry[1] !== undefined));
    // The first rates are averages since the start of the workers.
    if (!isBrief) this.latest = { figures: overview.figures, at: performance.now() };
    return overview;
  }
}
