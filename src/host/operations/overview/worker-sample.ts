import { setTimeout as wait } from 'node:timers/promises';
import type { TopKey } from '../../../engine/top-keys.js';
import type { Health } from '../health.js';
import { type Overview, overviewOf, type PrimaryFacts } from './overview.js';
import type { RecentEvent } from './recent-events.js';

/** Values that only grow. The primary computes rates from them. */
export interface WorkerCounts {
  /** Messages received from clients. */
  received: number;
  /** Messages sent to single clients. */
  sent: number;
  /** Messages sent to rooms. */
  broadcasts: number;
  /** Messages to rooms that stayed on their worker, that other workers of the machine got, and that other machines got. */
  stayed: number;
  crossedWorkers: number;
  crossedMachines: number;
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

/** Asks all workers for a sample. The value is undefined for a worker that does not answer in time. */
export type AskWorkers = () => Promise<ReadonlyMap<number, WorkerSample | undefined>>;

/** Samples that are older than this give no rates, in ms. */
const MAX_AGE_MS = 10_000;
/** How long the first reader waits between two samples, in ms. */
const FIRST_INTERVAL_MS = 500;

/** The overview of a machine. Workers are asked only when it is read. */
export class MachineOverview {
  private before = new Map<number, WorkerSample>();
  private beforeAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly ask: AskWorkers,
    private readonly facts: () => PrimaryFacts,
  ) {}

  /** Reads the overview. Its rates are those since the last read, or of half a second. */
  async read(): Promise<Overview> {
    if (performance.now() - this.beforeAt > MAX_AGE_MS) {
      this.keep(await this.ask());
      await wait(FIRST_INTERVAL_MS);
    }
    const { before } = this;
    const samples = await this.ask();
    this.keep(samples);
    return overviewOf(samples, before, this.facts());
  }

  private keep(samples: ReadonlyMap<number, WorkerSample | undefined>): void {
    this.before = new Map();
    for (const [id, sample] of samples) if (sample) this.before.set(id, sample);
    this.beforeAt = performance.now();
  }
}
