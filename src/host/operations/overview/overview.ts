import type { FigureName } from '../../../base/figure-table.js';
import { ALL, type Figure, SUM } from '../../../base/figures.js';
import { joinTexts } from '../../../base/names.js';
import type { Problem } from '../../../base/problems.js';
import { mergeKeys, type TopKey } from '../../../engine/top-keys.js';
import { type MachineFacts, type MachineHealth, machineHealth } from '../admin/machine-health.js';
import { healthOf, type ReportsByWorker } from '../metrics/machine-figures.js';
import { mergeEvents, type RecentEvent } from './recent-events.js';
import type { RoomFacts, WorkerReport } from './worker-report.js';

/** What rates are computed from: the figure of each, and the values of its first labels. */
const counted = {
  /** Messages received from clients. */
  received: ['gjallar_messages_received_total'],
  /** Messages sent to single clients. */
  sent: ['gjallar_messages_sent_total'],
  /** Messages sent to rooms, and their deliveries. */
  broadcasts: ['gjallar_broadcasts_total'],
  deliveries: ['gjallar_deliveries_total'],
  /** Rejected clients and requests. */
  refused: ['gjallar_clients_refused_total'],
  /** Connections opened. */
  opened: ['gjallar_connections_opened_total'],
  /** CPU time, and the time for which the event loop was busy, in seconds. */
  cpu: ['process_cpu_seconds_total'],
  busy: ['gjallar_event_loop_busy_seconds_total'],
  /** Calls of the history, and how long they took together in seconds. Both are 0 without a history. */
  appends: ['gjallar_history_seconds', 'append', ALL],
  appendTime: ['gjallar_history_seconds', 'append', SUM],
} as const satisfies Record<string, readonly [FigureName, ...string[]]>;

/** Rates per second, computed from two reports of each worker. CPU and busy time are shares of one core. */
export type Rates = { readonly [name in keyof typeof counted]: number };

/** The delay of an event loop since the report before, in ms. */
interface Delay {
  readonly p99: number;
  readonly max: number;
}

/** What a worker had counted when it reported. */
export interface Counts {
  /** In ms, on the worker's own clock. */
  readonly at: number;
  readonly counts: Rates;
}

/** A worker in the overview. */
export interface WorkerRow {
  readonly id: number;
  /** Whether it has answered. If not, all other fields are missing. */
  readonly doesRespond: boolean;
  readonly pid?: number;
  readonly state?: string;
  /** In seconds. */
  readonly uptime?: number;
  readonly clients?: number;
  readonly memory?: number;
  readonly buffered?: number;
  readonly load?: number;
  readonly delay?: Delay | undefined;
  readonly rates?: Rates;
}

/** The figures whose course is kept: rates per second, memory in bytes, times in ms. `cpu` is in cores. */
export interface KeptFigures {
  readonly clients: number;
  readonly received: number;
  readonly sent: number;
  /** Half of the pings took longer; undefined if none was answered lately. */
  readonly roundTrip: number | undefined;
  readonly cpu: number;
  readonly memory: number;
  /** 1% of the turns of the slowest event loop took longer. */
  readonly delay: number | undefined;
  readonly buffered: number;
}

/** Everything that the operator sees at a glance, of one machine. */
export interface Overview {
  readonly ok: true;
  /** In ms since 1970. */
  readonly at: number;
  readonly version: string;
  readonly node: string;
  readonly host: string;
  /** The number of cores, and the memory that this machine or container may use, in bytes. */
  readonly cores: number;
  readonly memoryLimit: number;
  /** The time since the start of the primary, in seconds. */
  readonly uptime: number;
  /** As /readyz says it, with `degraded` for a machine that is ready and has problems. */
  readonly state: string;
  /** What is down, and what needs attention although nothing is. */
  readonly problems: readonly Problem[];
  /** The workers of the other machines together; undefined if they cannot be counted. */
  readonly workersElsewhere: number | undefined;
  readonly configuredWorkers: number;
  readonly workers: readonly WorkerRow[];
  readonly clients: number;
  readonly transports: Readonly<Record<string, number>>;
  readonly namespaces: Readonly<Record<string, number>>;
  /** Whether it keeps a history. */
  readonly measures: { readonly history: boolean };
  readonly rates: Rates;
  readonly figures: KeptFigures;
  /** Earlier figures, the oldest first, one each `intervalMs`; null where there was none. */
  readonly history: {
    readonly intervalMs: number;
    readonly figures: { readonly [name in keyof KeptFigures]: readonly (number | null)[] };
  };
  readonly latency: {
    /** The delay of the event loop of the worker with the largest one, in ms. */
    readonly eventLoop: Delay | undefined;
    /** How long clients took to answer a ping, in ms; undefined if none has answered lately. */
    readonly roundTrip: { readonly p50: number; readonly p95: number } | undefined;
    /** How long the history took to store messages on average, in ms; undefined if it stored none. */
    readonly history: number | undefined;
  };
  readonly roomCount: number;
  /** Whether rooms, users, addresses and details are listed. They are for the operator alone. */
  readonly hasNames: boolean;
  readonly rooms: readonly RoomFacts[];
  readonly users: readonly TopKey[];
  readonly addresses: readonly TopKey[];
  readonly recent: readonly RecentEvent[];
}

/** What the page shows of the primary and the machine. */
export interface OverviewFacts extends MachineFacts {
  readonly version: string;
  readonly host: string;
  readonly cores: number;
  readonly memoryLimit: number;
  readonly uptime: number;
  readonly recent: readonly RecentEvent[];
}

/** How many rooms, users and addresses are listed. */
const MAX_LISTED = 20;

/**
 * Puts the answers of the workers together.
 * @param before what each worker had counted before, for the rates
 */
export function overviewOf(
  reports: ReportsByWorker,
  before: ReadonlyMap<number, Counts>,
  facts: OverviewFacts,
): Omit<Overview, 'history'> {
  const known = [...reports.values()].filter((report) => report !== undefined);
  const figures = known.flatMap((report) => report.figures);
  const workers = [...reports].map(([id, report]) => rowOf(id, report, before.get(id)));
  const rates = sumOfRates(workers.flatMap((worker) => worker.rates ?? []));
  const [memory, buffered] = [memoryOf(figures), sumOf(figures, 'gjallar_buffered_bytes')];
  const transports = byLabel(figures, 'gjallar_clients');
  const clients = sumOf(figures, 'gjallar_clients');
  const eventLoop = workers
    .map(({ delay }) => delay)
    .reduce((most, delay) => (delay && delay.p99 >= (most?.p99 ?? 0) ? delay : most), undefined);
  const roundTrip = percentilesOf(known.flatMap(({ roundTrips }) => roundTrips));
  const lists = known.flatMap((report) => report.lists ?? []);
  const servers = lists.find((list) => list.servers !== undefined)?.servers;
  const { version, host, cores, memoryLimit, uptime, configuredWorkers } = facts;
  return {
    ...{ ok: true, at: Date.now(), version, node: process.version, host, cores, memoryLimit, uptime },
    ...stateOf(machineHealth(healthOf(reports), facts)),
    workersElsewhere: servers === undefined ? undefined : Math.max(0, servers - reports.size),
    ...{ configuredWorkers, workers, clients, transports },
    namespaces: byLabel(figures, 'gjallar_namespace_sockets'),
    measures: { history: figures.some(([name]) => name === 'gjallar_history_seconds') },
    rates,
    figures: {
      ...{ clients, received: rates.received, sent: rates.sent + rates.deliveries, roundTrip: roundTrip?.p50 },
      ...{ cpu: rates.cpu, memory, delay: eventLoop?.p99, buffered },
    },
    latency: {
      eventLoop,
      roundTrip,
      history: rates.appends > 0 ? (rates.appendTime / rates.appends) * 1000 : undefined,
    },
    roomCount: Math.max(0, ...lists.map(({ roomCount }) => roomCount)),
    hasNames: true,
    rooms: mergeRooms(lists.map(({ rooms }) => rooms)),
    users: mergeKeys(
      lists.map(({ users }) => users),
      MAX_LISTED,
    ),
    addresses: mergeKeys(
      lists.map(({ addresses }) => addresses),
      MAX_LISTED,
    ),
    recent: mergeEvents([facts.recent, ...lists.map(({ recent }) => recent)]),
  };
}

/** What `/api/stats` shows of the workers, their clients, and the sockets of each namespace. */
export function statsOf(reports: ReportsByWorker): object {
  const workers = [...reports].map(([id, report]) => {
    if (!report) return { id, doesRespond: false };
    const { pid, at, figures } = report;
    return { id, pid, uptime: Math.round(at / 1000), ...sockets(figures) };
  });
  const figures = [...reports.values()].flatMap((report) => report?.figures ?? []);
  return { ok: true, ...sockets(figures), workers };
}

function sockets(figures: readonly Figure[]) {
  return {
    clients: sumOf(figures, 'gjallar_clients'),
    namespaces: byLabel(figures, 'gjallar_namespace_sockets'),
  };
}

/** The overview for callers that are not the operator. */
export function withoutNames(overview: Overview): Overview {
  const recent = overview.recent.map((event) => ({ ...event, details: {} }));
  return { ...overview, hasNames: false, namespaces: {}, rooms: [], users: [], addresses: [], recent };
}

function stateOf({ state, problems, warnings }: MachineHealth): Pick<Overview, 'state' | 'problems'> {
  const isDegraded = state === 'ready' && problems.length > 0;
  return { state: isDegraded ? 'degraded' : state, problems: [...problems, ...warnings] };
}

function rowOf(id: number, report: WorkerReport | undefined, before: Counts | undefined): WorkerRow {
  if (!report) return { id, doesRespond: false };
  const { pid, health, at, figures } = report;
  return {
    ...{ id, doesRespond: true, pid, state: health.state, uptime: Math.round(at / 1000) },
    clients: sumOf(figures, 'gjallar_clients'),
    memory: memoryOf(figures),
    buffered: sumOf(figures, 'gjallar_buffered_bytes'),
    load: sumOf(figures, 'gjallar_load_level'),
    delay: delayIn(figures),
    rates: ratesBetween(before, countsOf(report)),
  };
}

function delayIn(figures: readonly Figure[]): Delay {
  return {
    p99: sumOf(figures, 'nodejs_eventloop_lag_p99_seconds') * 1000,
    max: sumOf(figures, 'nodejs_eventloop_lag_max_seconds') * 1000,
  };
}

const memoryOf = (figures: readonly Figure[]) => sumOf(figures, 'process_resident_memory_bytes');

/** The sum of a figure, of those with these first labels. */
function sumOf(figures: readonly Figure[], name: FigureName, ...labels: readonly string[]): number {
  const isMeant = ([own, given]: Figure) => own === name && labels.every((label, at) => given[at] === label);
  return figures.reduce((sum, figure) => (isMeant(figure) ? sum + figure[2] : sum), 0);
}

/** The sums of a figure by its first label. */
function byLabel(figures: readonly Figure[], name: FigureName): Record<string, number> {
  const sums = new Map<string, number>();
  for (const [own, [label = ''], value] of figures) if (own === name) sums.set(label, (sums.get(label) ?? 0) + value);
  return Object.fromEntries(sums);
}

export function countsOf({ at, figures }: WorkerReport): Counts {
  return { at, counts: mapRates((name) => sumOf(figures, counted[name][0], ...counted[name].slice(1))) };
}

/** A worker without an earlier report is new. What it has counted since its start is its rate then. */
function ratesBetween(before: Counts | undefined, { at, counts }: Counts): Rates {
  const seconds = Math.max(1, at - (before?.at ?? 0)) / 1000;
  return mapRates((name) => Math.max(0, counts[name] - (before?.counts[name] ?? 0)) / seconds);
}

function sumOfRates(all: readonly Rates[]): Rates {
  return mapRates((name) => all.reduce((total, rates) => total + rates[name], 0));
}

function mapRates(read: (name: keyof Rates) => number): Rates {
  const names = Object.keys(counted) as (keyof Rates)[];
  return Object.fromEntries(names.map((name) => [name, read(name)])) as unknown as Rates;
}

function percentilesOf(values: readonly number[]): { p50: number; p95: number } | undefined {
  if (values.length === 0) return undefined;
  const sorted = [...values].sort((one, other) => one - other);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
  return { p50: at(0.5), p95: at(0.95) };
}

/** Each worker counts the members that it has itself. A broadcast reaches every worker, so the largest count is right. */
function mergeRooms(lists: readonly (readonly RoomFacts[])[]): RoomFacts[] {
  const merged = new Map<string, RoomFacts>();
  for (const facts of lists.flat()) {
    const key = joinTexts(facts.namespace, facts.room);
    const known = merged.get(key);
    const members = facts.members + (known?.members ?? 0);
    merged.set(key, { ...facts, members, perSecond: Math.max(facts.perSecond, known?.perSecond ?? 0) });
  }
  return largestAndBusiest([...merged.values()]);
}

/** Half of the list are the rooms with the most members, and half those with the most deliveries. */
function largestAndBusiest(rooms: readonly RoomFacts[]): RoomFacts[] {
  const largest = [...rooms].sort((one, other) => other.members - one.members).slice(0, MAX_LISTED / 2);
  const rest = rooms.filter((room) => !largest.includes(room));
  const deliveriesOf = ({ members, perSecond }: RoomFacts) => members * perSecond;
  const busiest = rest.sort((one, other) => deliveriesOf(other) - deliveriesOf(one) || other.members - one.members);
  return [...largest, ...busiest].slice(0, MAX_LISTED);
}
