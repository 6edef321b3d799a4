import { featureFigures } from '../../../base/figures.js';
import { Outage } from '../../../base/outage.js';
import type { Reason } from '../../../base/problems.js';
import { thisProcess } from '../../../base/process.js';
import { Seldom } from '../../../base/warnings.js';
import { within } from '../../../base/within.js';
import { faultOf } from '../../../cluster/backplanes/broker-cause.js';
import type { StoreNews } from '../sequencer/messages.js';
import type { StoreAddress } from '../sequencer/store/address.js';

/** Why Redis takes no writes. Version 6 puts the code of an error inside a script behind other words. */
const REJECTED = /\b(OOM|READONLY|MISCONF|NOREPLICAS|WRONGTYPE)\b/;

/** What is down, in public words. */
function reasonOf(reason: string): Reason {
  const [, word] = REJECTED.exec(reason) ?? [];
  const { code, text } = word
    ? ({ code: 'REDIS_WRITES_REJECTED', text: `Redis rejects writes (${word})` } as const)
    : faultOf('Redis', reason);
  return { code, text: `${text}: state rooms are not stored` };
}

interface StoredRoom {
  readonly name: string;
  stored(): Promise<void>;
}

const all = new Map<StoreAddress['redis'], StoreReports>();

/** Resolves once all state rooms of this process are stored, or after a time. Call it before the process ends. */
export async function flushStateStores(maxWaitMs: number): Promise<void> {
  if (all.size > 0) await within(maxWaitMs, Promise.all([...all.values()].map((store) => store.flushed())));
}

/**
 * What the operator learns of the Redis of state rooms. Whoever stores them, the hub or this process, tells the workers; an
 * outage lasts while there are rooms that cannot be stored.
 */
export class StoreReports {
  private losses = 0;
  private readonly rooms = new Set<StoredRoom>();
  private readonly failing = new Set<StoredRoom>();
  private readonly outage = new Outage();
  /** How many changes rooms had that were closed before Redis had them. */
  private readonly dropped = new Map<string, number>();

  private readonly uncount = featureFigures.add(() => ({
    gjallar_state_store_up: this.failing.size === 0 ? 1 : 0,
    gjallar_state_store_losses_total: this.losses,
  }));

  private constructor(private readonly redis: StoreAddress['redis']) {}

  /** Those of a Redis, which all rooms with the same URL or client share. */
  static of({ redis }: StoreAddress): StoreReports {
    const reports = all.get(redis) ?? new StoreReports(redis);
    all.set(redis, reports);
    return reports;
  }

  async flushed(): Promise<void> {
    await Promise.all([...this.rooms].map((room) => room.stored()));
  }

  add(room: StoredRoom): void {
    this.rooms.add(room);
  }

  heard(room: StoredRoom, { down, losses = 0 }: StoreNews): void {
    for (let left = losses; left > 0; left--) this.lost(room.name);
    if (down !== undefined) {
      this.failing.add(room);
      this.outage.begin(reasonOf(down), { reason: down, room: room.name });
    } else if (this.failing.delete(room) && this.failing.size === 0) {
      this.outage.end();
      this.reportDropped();
    }
  }

  /** @param unwritten how many changes of the room Redis does not have */
  remove(room: StoredRoom, unwritten: number): void {
    this.rooms.delete(room);
    // If no failing room is left, that does not mean that Redis works.
    if (this.failing.delete(room) && this.failing.size === 0) this.outage.close();
    if (unwritten > 0) this.dropped.set(room.name, unwritten);
    // Rooms that end together are one report.
    if (this.failing.size === 0 || this.rooms.size === 0) this.reportDropped();
    if (this.rooms.size > 0) return;
    this.uncount();
    all.delete(this.redis);
  }

  private lost(room: string): void {
    this.losses++;
    const { log, problems } = thisProcess.reports;
    problems.raise(LOST, LOST, LOST_MS);
    if (lostLines.due() !== undefined) log.warn({ code: LOST.code, room }, LOST.text);
  }

  private reportDropped(): void {
    const { size: rooms } = this.dropped;
    if (rooms === 0) return;
    const [[room]] = this.dropped as unknown as [[string, number]];
    let changes = 0;
    for (const count of this.dropped.values()) changes += count;
    this.dropped.clear();
    thisProcess.reports.log.error({ rooms, room, changes }, DROPPED);
  }
}

const DROPPED =
  'state rooms were closed with changes that Redis does not have: they are lost unless another worker has the rooms';
const LOST: Reason = {
  code: 'STATE_LOST',
  text: 'Redis has lost the state of state rooms: the servers write what they have again',
};
/** How long `/readyz` shows it, in ms. */
const LOST_MS = 600_000;
/** Each room notices it. */
const lostLines = new Seldom(10_000);
