import { joinTexts } from '../../../base/names.js';
import type { Problem } from '../../../base/problems.js';
import { mergeKeys, type TopKey } from '../../../engine/top-keys.js';
import { type MachineFacts, type MachineHealth, machineHealth } from '../admin/machine-health.js';
import { mergeEvents, type RecentEvent } from './recent-events.js';
import type { RoomFacts, WorkerCounts, WorkerSample } from './worker-sample.js';

/** Rates per second, computed from two samples of each worker. CPU and busy time are shares of one core. */
export type Rates = { readonly [name in keyof WorkerCounts]: number };

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
  readonly delay?: WorkerSample['delay'];
  readonly rates?: Rates;
}

/** The figures whose course is kept: rates per second, memory in bytes, times in ms. `cpu` is in cores. */
export interface Figures {
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
  readonly memory: number;
  readonly buffered: number;
  readonly measures: WorkerSample['measures'];
  readonly rates: Rates;
  readonly figures: Figures;
  /** Earlier figures, the oldest first, one each `intervalMs`; null where there was none. */
  readonly history: {
    readonly intervalMs: number;
    readonly figures: { readonly [name in keyof Figures]: readonly (number | null)[] };
  };
  readonly latency: {
    /** The delay of the event loop of the worker with the largest one, in ms. */
    readonly eventLoop: WorkerSample['delay'];
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

/** What the primary knows by itself. */
export interface PrimaryFacts extends MachineFacts {
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
 * @param samples the samples by worker; undefined for a worker that has not answered
 * @param before the samples before, for the rates
 */
export function overviewOf(
  samples: ReadonlyMap<number, WorkerSample | undefined>,
  before: ReadonlyMap<number, WorkerSample>,
  facts: PrimaryFacts,
): Omit<Overview, 'history'> {
  const known = [...samples.values()].filter((sample) => sample !== undefined);
  const sum = (read: (sample: WorkerSample) => number) => known.reduce((total, one) => total + read(one), 0);
  const ratesBy = new Map(known.map((sample) => [sample.id, ratesBetween(before.get(sample.id), sample)]));
  const rates = sumOfCounts([...ratesBy.values()]);
  const servers = known.find((sample) => sample.servers !== undefined)?.servers;
  const measured = (name: keyof WorkerSample['measures']) => known.some(({ measures }) => measures[name]);
  const memory = sum((sample) => sample.memory);
  const buffered = sum((sample) => sample.buffered);
  const clients = sum(clientsOf);
  const eventLoop = known
    .map(({ delay }) => delay)
    .reduce((most, delay) => (delay && delay.p99 >= (most?.p99 ?? 0) ? delay : most), undefined);
  const roundTrip = percentilesOf(known.flatMap(({ roundTrips }) => roundTrips));
  return {
    ok: true,
    at: Date.now(),
    version: facts.version,
    node: process.version,
    host: facts.host,
    cores: facts.cores,
    memoryLimit: facts.memoryLimit,
    uptime: facts.uptime,
    ...stateOf(machineHealth(healthOf(samples), facts)),
    workersElsewhere: servers === undefined ? undefined : Math.max(0, servers - samples.size),
    configuredWorkers: facts.configuredWorkers,
    workers: [...samples].map(([id, sample]) => rowOf(id, sample, ratesBy.get(id))),
    clients,
    transports: addUp(known.map(({ clients }) => clients)),
    namespaces: addUp(known.map(({ namespaces }) => namespaces)),
    memory,
    buffered,
    measures: { history: measured('history'), machines: measured('machines') },
    rates,
    figures: {
      ...{ clients, received: rates.received, sent: rates.sent + rates.deliveries, roundTrip: roundTrip?.p50 },
      ...{ cpu: rates.cpu, memory, delay: eventLoop?.p99, buffered },
    },
    latency: {
      eventLoop,
      roundTrip,
      history: rates.appends > 0 ? rates.appendTime / rates.appends : undefined,
    },
    roomCount: Math.max(0, ...known.map(({ roomCount }) => roomCount)),
    hasNames: true,
    rooms: mergeRooms(known.map(({ rooms }) => rooms)),
    users: mergeKeys(
      known.map(({ users }) => users),
      MAX_LISTED,
    ),
    addresses: mergeKeys(
      known.map(({ addresses }) => addresses),
      MAX_LISTED,
    ),
    recent: mergeEvents([facts.recent, ...known.map(({ recent }) => recent)]),
  };
}

/** The overview for callers that are not the operator. */
export function withoutNames(overview: Overview): Overview {
  const recent = overview.recent.map((event) => ({ ...event, details: {} }));
  return { ...overview, hasNames: false, namespaces: {}, rooms: [], users: [], addresses: [], recent };
}

function healthOf(samples: ReadonlyMap<number, WorkerSample | undefined>) {
  return new Map([...samples].map(([id, sample]) => [id, sample?.health]));
}

function stateOf({ state, problems, warnings }: MachineHealth): Pick<Overview, 'state' | 'problems'> {
  const isDegraded = state === 'ready' && problems.length > 0;
  return { state: isDegraded ? 'degraded' : state, problems: [...problems, ...warnings] };
}

function rowOf(id: number, sample: WorkerSample | undefined, rates: Rates | undefined): WorkerRow {
  if (!sample) return { id, doesRespond: false };
  const { pid, health, at, memory, buffered, load, delay } = sample;
  const base = { id, doesRespond: true, pid, state: health.state, uptime: Math.round(at / 1000) };
  return { ...base, clients: clientsOf(sample), memory, buffered, load, delay, rates };
}

function clientsOf({ clients }: WorkerSample): number {
  return Object.values(clients).reduce((total, count) => total + count, 0);
}

const noCounts: WorkerCounts = {
  ...{ received: 0, sent: 0, broadcasts: 0, deliveries: 0, refused: 0, opened: 0 },
  ...{ cpu: 0, busy: 0, appends: 0, appendTime: 0 },
};

/** A worker without an earlier sample is new. What it has counted since its start is its rate then. */
function ratesBetween(before: WorkerSample | undefined, sample: WorkerSample): Rates {
  const seconds = Math.max(1, sample.at - (before?.at ?? 0)) / 1000;
  const earlier = before?.counts ?? noCounts;
  const rates = mapCounts((name) => Math.max(0, sample.counts[name] - earlier[name]) / seconds);
  // In ms per second, both are shares of 1,000.
  return { ...rates, cpu: rates.cpu / 1000, busy: rates.busy / 1000 };
}

function sumOfCounts(all: readonly WorkerCounts[]): WorkerCounts {
  return mapCounts((name) => all.reduce((total, counts) => total + counts[name], 0));
}

function mapCounts(read: (name: keyof WorkerCounts) => number): WorkerCounts {
  const names = Object.keys(noCounts) as (keyof WorkerCounts)[];
  return Object.fromEntries(names.map((name) => [name, read(name)])) as unknown as WorkerCounts;
}

function addUp(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sums = new Map<string, number>();
  for (const one of all) for (const [name, count] of Object.entries(one)) sums.set(name, (sums.get(name) ?? 0) + count);
  return Object.fromEntries(sums);
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
