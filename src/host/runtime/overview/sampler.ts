import { performance } from 'node:perf_hooks';
import type { Histogram, Metric } from 'prom-client';
import type { Server } from 'socket.io';
import type { Engine } from '../../../engine/engine.js';
import { mergeKeys, type TopKey } from '../../../engine/top-keys.js';
import { roomOfTopic, topicNameOf } from '../../../io/rooms/index.js';
import { privateParts } from '../../../io/socket-io-server.private.js';
import type { Health } from '../../operations/health.js';
import type { RoomFacts, WorkerCounts, WorkerSample } from '../../operations/overview/worker-sample.js';
import { type ApplicationView, ordinaryView } from '../application.js';
import { atMostEvery } from '../intervals.js';
import type { MachineWorker } from '../machine-worker.js';
import { EventLoopDelay } from './event-loop-delay.js';
import { LargestRooms } from './largest-rooms.js';
import { socketsByNamespace } from './stats.js';

/** How many rooms, users and addresses a worker reports. */
const MAX_REPORTED = 20;
/** How often the workers of all machines are counted, in ms. With Redis, that is one command. */
const COUNT_INTERVAL_MS = 5000;

/** Takes the samples of a worker for the overview. Nothing is done between two samples. */
export class OverviewSampler {
  private readonly delay = new EventLoopDelay();
  private readonly largest: LargestRooms;
  private readonly countServers: () => Promise<number | undefined>;

  /** @param view what the application adds; undefined if it adds nothing */
  constructor(
    private readonly worker: MachineWorker,
    private readonly view: ApplicationView = ordinaryView,
  ) {
    this.largest = new LargestRooms(worker.servers, view);
    this.countServers = atMostEvery(COUNT_INTERVAL_MS, () => serversOf(worker.servers[0]));
  }

  /** @param isBrief whether the lists are left out, and what costs as much */
  async sample(health: Health, isBrief: boolean): Promise<WorkerSample> {
    const { worker, view, largest } = this;
    const { engines, mesh, recent, metrics, machines } = worker;
    const histogram = metrics.find('gjallar_history_seconds');
    const [servers, history] = await Promise.all([
      worker.isLeader() && !isBrief ? this.countServers() : undefined,
      appendsOf(histogram),
      isBrief ? undefined : largest.refresh(),
    ]);
    return {
      id: mesh.id,
      pid: process.pid,
      at: performance.now(),
      health,
      counts: { ...countsOf(worker), ...history },
      clients: clientsOf(worker),
      namespaces: Object.fromEntries(socketsByNamespace(worker.servers)),
      memory: process.memoryUsage.rss(),
      delay: this.delay.read(),
      load: Math.max(0, ...engines.map(({ load }) => load.level)),
      buffered: sumOver(engines, ({ bufferBudget }) => bufferBudget.buffered),
      measures: {
        history: histogram !== undefined,
        machines: machines !== undefined,
      },
      roundTrips: engines.flatMap(({ roundTrips }) => roundTrips.latest),
      roomCount: largest.latest.count,
      ...{ rooms: [], users: [], addresses: [], recent: [], servers },
      ...(!isBrief && {
        rooms: this.rooms(),
        users: view.users?.top(MAX_REPORTED) ?? [],
        addresses: topOf(engines, ({ talkers }) => talkers.top(MAX_REPORTED)),
        recent: recent.all,
      }),
    };
  }

  /** The rooms with the most members, and those with the most broadcasts. */
  private rooms(): RoomFacts[] {
    const { servers, engines } = this.worker;
    const topics = topOf(engines, ({ busyRooms }) => busyRooms.top(MAX_REPORTED));
    const busy = new Map(topics.map(({ key, perSecond }) => [key, perSecond]));
    const facts = new Map<string, RoomFacts>();
    const add = (namespace: string, room: string, members: number) => {
      const name = this.view.nameOf(namespace, room);
      const key = topicNameOf(namespace, room);
      if (name !== undefined) facts.set(key, { namespace, room, name, members, perSecond: busy.get(key) ?? 0 });
    };
    for (const { namespace, room, members } of this.largest.latest.rooms) add(namespace, room, members);
    for (const key of busy.keys()) {
      const { namespace, room } = roomOfTopic(key);
      if (!facts.has(key)) add(namespace, room, this.membersOf(servers, namespace, room));
    }
    return [...facts.values()];
  }

  private membersOf(servers: readonly Server[], namespace: string, room: string): number {
    const sockets = sumOver(servers, (io) => privateParts(io)._nsps.get(namespace)?.adapter.rooms.get(room)?.size ?? 0);
    return sockets + (this.view.moreMembersOf?.(namespace, room) ?? 0);
  }
}

function countsOf({ engines, otherClients, reports }: MachineWorker): Omit<WorkerCounts, 'appends' | 'appendTime'> {
  const { user, system } = process.cpuUsage();
  return {
    received:
      sumOver(engines, ({ counters }) => counters.received) +
      sumOver(otherClients, ({ clients }) => clients.counters.received),
    sent: sumOver(engines, ({ counters }) => counters.sent),
    broadcasts: sumOver(engines, ({ counters }) => counters.broadcasts),
    deliveries: sumOver(engines, ({ outbox }) => outbox.deliveries),
    refused: reports.rejections,
    opened:
      sumOver(engines, ({ counters }) => counters.opened) +
      sumOver(otherClients, ({ clients }) => clients.counters.opened),
    cpu: (user + system) / 1000,
    busy: performance.eventLoopUtilization().active,
  };
}

function clientsOf({ engines, otherClients }: MachineWorker): Record<string, number> {
  const clients: Record<string, number> = {};
  const counts = engines.flatMap(({ clientsByTransport }) => Object.entries(clientsByTransport));
  for (const [transport, count] of counts) clients[transport] = (clients[transport] ?? 0) + count;
  for (const { kind, clients: others } of otherClients) clients[kind] = others.size;
  return clients;
}

/** How many messages the history has stored, and how long that took together, from its histogram. */
async function appendsOf(metric: Metric | undefined): Promise<{ appends: number; appendTime: number }> {
  const values = (await (metric as Histogram | undefined)?.get())?.values ?? [];
  const find = (suffix: string) =>
    values.find(({ metricName, labels }) => metricName?.endsWith(suffix) && labels.call === 'append')?.value ?? 0;
  return { appends: find('_count'), appendTime: find('_sum') * 1000 };
}

/** The number of the workers of all machines; undefined if they cannot be counted. */
async function serversOf(io: Server | undefined): Promise<number | undefined> {
  try {
    return await (io?.of('/').adapter.serverCount() as Promise<number> | undefined);
  } catch {
    return undefined;
  }
}

function topOf(engines: readonly Engine[], keysOf: (engine: Engine) => TopKey[]): TopKey[] {
  const [first, ...others] = engines.map(keysOf);
  return others.length > 0 ? mergeKeys([first!, ...others], MAX_REPORTED) : (first ?? []);
}

function sumOver<T>(all: readonly T[], read: (one: T) => number): number {
  return all.reduce((total, one) => total + read(one), 0);
}
