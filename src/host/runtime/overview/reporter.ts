import type { Server } from 'socket.io';
import { type Figure, featureFigures, Totals } from '../../../base/figures.js';
import type { Engine } from '../../../engine/engine.js';
import { canonicalAddress } from '../../../engine/limits/address-limits.js';
import { mergeKeys, type TopKey } from '../../../engine/top-keys.js';
import { atMostEvery } from '../../../io/http/at-most-every.js';
import { roomOfTopic, topicNameOf } from '../../../io/rooms/index.js';
import { privateParts } from '../../../io/socket-io-server.private.js';
import type { RoomFacts, WorkerLists, WorkerReport } from '../../operations/overview/worker-report.js';
import type { MachineWorker } from '../machine-worker.js';
import { LargestRooms } from './largest-rooms.js';

/** How many rooms, users and addresses a worker reports. */
const MAX_REPORTED = 20;
/** How often the workers of all machines are counted, in ms. With Redis, that is one command. */
const COUNT_INTERVAL_MS = 5000;

/** Reports the figures of a worker, and the lists of the operator's page. Nothing is done between two reports. */
export class Reporter {
  private readonly largest: LargestRooms;
  private readonly countServers: () => Promise<number | undefined>;

  constructor(private readonly worker: MachineWorker) {
    this.largest = new LargestRooms(worker);
    this.countServers = atMostEvery(COUNT_INTERVAL_MS, () => serversOf(worker.servers[0]));
  }

  /** The figures at present. */
  get figures(): Figure[] {
    return new Totals().add(this.worker.figures.read()).add(featureFigures.read()).all;
  }

  async report(hasLists: boolean): Promise<WorkerReport> {
    const { engines, health } = this.worker;
    // First: what is counted in an answer must not be older than in one that was asked for later.
    const lists = hasLists ? await this.lists() : undefined;
    return {
      pid: process.pid,
      at: performance.now(),
      health,
      figures: this.figures,
      roundTrips: engines.flatMap(({ roundTrips }) => roundTrips.latest),
      lists,
    };
  }

  private async lists(): Promise<WorkerLists> {
    const { worker, largest } = this;
    const [servers] = await Promise.all([worker.isLeader() ? this.countServers() : undefined, largest.refresh()]);
    return {
      roomCount: largest.latest.count,
      rooms: this.rooms(),
      users: worker.view.users?.top(MAX_REPORTED) ?? [],
      addresses: addressesOf(worker.engines),
      recent: worker.recent.all,
      servers,
    };
  }

  /** The rooms with the most members, and those with the most broadcasts. */
  private rooms(): RoomFacts[] {
    const { servers, engines } = this.worker;
    const topics = topOf(engines, ({ busyRooms }) => busyRooms.top(MAX_REPORTED));
    const busy = new Map(topics.map(({ key, perSecond }) => [key, perSecond]));
    const facts = new Map<string, RoomFacts>();
    const add = (namespace: string, room: string, members: number) => {
      const name = this.worker.view.nameOf(namespace, room);
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
    return sockets + (this.worker.view.moreMembersOf?.(namespace, room) ?? 0);
  }
}

/** The number of the workers of all machines; undefined if they cannot be counted. */
async function serversOf(io: Server | undefined): Promise<number | undefined> {
  try {
    return await (io?.of('/').adapter.serverCount() as Promise<number> | undefined);
  } catch {
    return undefined;
  }
}

/** An IPv4 address has one form here, whatever the socket is that it comes through. */
function addressesOf(engines: readonly Engine[]): TopKey[] {
  const top = topOf(engines, ({ talkers }) => talkers.top(MAX_REPORTED));
  return mergeKeys([top.map((one) => ({ ...one, key: canonicalAddress(one.key) }))], MAX_REPORTED);
}

function topOf(engines: readonly Engine[], keysOf: (engine: Engine) => TopKey[]): TopKey[] {
  const [first, ...others] = engines.map(keysOf);
  return others.length > 0 ? mergeKeys([first!, ...others], MAX_REPORTED) : (first ?? []);
}

function sumOver<T>(all: readonly T[], read: (one: T) => number): number {
  return all.reduce((total, one) => total + read(one), 0);
}
