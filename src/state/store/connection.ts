import type { Cluster, Redis } from 'ioredis';
import { redisCause } from '../../backplanes/redis-cause.js';
import { Outage } from '../../base/outage.js';
import { own } from '../../base/owner.js';
import type { Reason } from '../../base/problems.js';
import { thisProcess } from '../../base/process.js';
import { Seldom } from '../../base/seldom.js';
import { within } from '../../base/within.js';
import { type MeasuredStateStore, type StateStoreFigures, stateStores } from '../../rooms/stores.js';
import type { ClientEvents } from './client.js';
import { type StoreClient, withStoreScripts } from './scripts.js';

/** Why Redis takes no writes. Version 6 puts the code of an error inside a script behind other words. */
const REJECTED = /\b(OOM|READONLY|MISCONF|NOREPLICAS|WRONGTYPE)\b/;

/** What is down, in public words. */
function reasonOf(reason: string): Reason {
  const [, word] = REJECTED.exec(reason) ?? [];
  const rejected: Reason | undefined = word
    ? { code: 'REDIS_WRITES_REJECTED', text: `Redis rejects writes (${word})` }
    : undefined;
  const unreachable: Reason = { code: 'REDIS_UNREACHABLE', text: 'Redis is unreachable' };
  const { code, text } = redisCause(reason) ?? rejected ?? unreachable;
  return { code, text: `${text}: state rooms are not stored` };
}

/** The rooms of a connection that cannot be stored. An outage lasts while there are any. */
class StoreHealth {
  outages = 0;
  failures = 0;
  private readonly failing = new Set<object>();
  private readonly outage = new Outage();

  /** @param onUp called when the last failing room is stored again */
  constructor(private readonly onUp: () => void) {}

  get isUp(): boolean {
    return this.failing.size === 0;
  }

  isFailing(room: object): boolean {
    return this.failing.has(room);
  }

  failed(room: object, reason: string): void {
    this.failures++;
    if (this.isUp) this.outages++;
    this.failing.add(room);
    this.outage.begin(reasonOf(reason), { reason });
  }

  /** The room is stored again. */
  works(room: object): void {
    if (!this.failing.delete(room) || !this.isUp) return;
    this.outage.end();
    this.onUp();
  }

  /** If no failing room is left, that does not mean that Redis works. */
  closed(room: object): void {
    if (this.failing.delete(room) && this.isUp) this.outage.close();
  }
}

/** How long Redis may take to answer, in ms. */
const TIMEOUT_MS = 2000;
/** Bytes that may wait for Redis at once: one that has stopped must not fill this worker's memory. */
const MAX_PENDING_BYTES = 32 * 1024 * 1024;
/** How often rooms ask whether Redis still has what it had, in ms. With more rooms, each asks less often. */
const CHECK_MS = 1000;
const ROOMS_PER_CHECK = 200;
const NOT_CONNECTED = 'not connected';
/** How many checks the first connection has. A start on a busy machine takes seconds; an address without Redis is an error sooner. */
const MAX_FIRST_CHECKS = 4;

/** A room on a connection. */
export interface ConnectedRoom {
  readonly name: string;
  /** Whether everything is stored. */
  readonly isStored: boolean;
  /** The connection is there again: Redis may be another one. */
  onReady(): void;
  /** Looks whether Redis still has what it had. */
  check(): void;
  stored(): Promise<void>;
}

/** The connection that the rooms with the same Redis share. */
export class StoreConnection implements MeasuredStateStore {
  readonly health: StoreHealth;
  written = 0;
  losses = 0;
  private readonly rooms = new Set<ConnectedRoom>();
  /** How many changes rooms had that were closed before Redis had them. */
  private readonly dropped = new Map<string, number>();
  private client: StoreClient | undefined;
  private pendingBytes = 0;
  /** Why there is no connection. Until the first one, undefined means that it is being made. */
  private reason: string | undefined;
  private wasReady = false;
  private firstChecks = 0;
  private readonly end: () => void;
  private readonly timer: NodeJS.Timeout;
  private next: ConnectedRoom[] = [];

  /** @param onClosed called when the last room is gone */
  constructor(
    redis: string | Redis | Cluster,
    private readonly onClosed: () => void,
  ) {
    this.health = new StoreHealth(() => this.reportDropped());
    const onReady = () => this.onReady();
    if (typeof redis === 'string') {
      this.end = connect(redis, {
        onClient: (client) => this.use(client),
        onReady,
        onError: (reason) => {
          this.reason = reason;
        },
      });
    } else {
      this.use(redis);
      redis.on('ready', onReady);
      if (redis.status === 'ready') queueMicrotask(onReady);
      this.end = () => redis.off('ready', onReady);
    }
    this.timer = setInterval(() => this.checkSome(), CHECK_MS);
    this.timer.unref();
    stateStores.add(this);
  }

  get figures(): StateStoreFigures {
    const { health, written, losses } = this;
    return { up: health.isUp ? 1 : 0, written, failures: health.failures, outages: health.outages, losses };
  }

  /** Whether it connects for the first time, which takes a moment and is no outage. */
  get isConnecting(): boolean {
    return !this.wasReady && this.reason === undefined && this.client?.status !== 'ready';
  }

  add(room: ConnectedRoom): void {
    this.rooms.add(room);
    if (this.client?.status === 'ready') queueMicrotask(() => this.rooms.has(room) && room.onReady());
  }

  /** @param unwritten how many changes of the room Redis does not have */
  remove(room: ConnectedRoom, unwritten: number): void {
    this.rooms.delete(room);
    this.health.closed(room);
    if (unwritten > 0) this.dropped.set(room.name, unwritten);
    // Rooms that end together are one report.
    if (this.health.isUp || this.rooms.size === 0) this.reportDropped();
    if (this.rooms.size > 0) return;
    clearInterval(this.timer);
    this.end();
    stateStores.remove(this);
    this.onClosed();
  }

  /**
   * Sends a command. Rejects if there is no connection, or if Redis does not answer in time.
   * @param bytes about how many bytes it has
   * @returns the answer, and what settles once Redis can do nothing more with the command
   */
  run<T>(bytes: number, command: (client: StoreClient) => Promise<T>): { answer: Promise<T>; end: Promise<unknown> } {
    const { client } = this;
    if (client?.status !== 'ready') return failed(this.reason ?? NOT_CONNECTED);
    if (this.pendingBytes + bytes > MAX_PENDING_BYTES) return failed('too many bytes are waiting for Redis');
    this.pendingBytes += bytes;
    const sent = command(client);
    const end = sent
      .catch(() => {})
      .then(() => {
        this.pendingBytes -= bytes;
      });
    return { answer: within(TIMEOUT_MS, sent, noAnswer), end };
  }

  async flushed(): Promise<void> {
    await Promise.all([...this.rooms].map((room) => room.stored()));
  }

  /** A room has found that Redis has lost what it had. */
  lost(room: string): void {
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

  private use(client: Redis | Cluster): void {
    this.client = withStoreScripts(client);
  }

  private onReady(): void {
    this.wasReady = true;
    this.reason = undefined;
    for (const room of this.rooms) room.onReady();
  }

  private checkSome(): void {
    if (this.isConnecting && ++this.firstChecks >= MAX_FIRST_CHECKS) this.reason = NOT_CONNECTED;
    if (this.isConnecting) return;
    if (this.next.length === 0) this.next = [...this.rooms];
    for (const room of this.next.splice(0, ROOMS_PER_CHECK)) if (this.rooms.has(room)) room.check();
  }
}

let client: Promise<typeof import('./client.js')> | undefined;

/** Only a process that stores rooms loads the client of Redis. */
export function loadClient(): Promise<typeof import('./client.js')> {
  client ??= import('./client.js');
  return client;
}

function connect(url: string, events: ClientEvents): () => void {
  let end: (() => void) | undefined;
  let isEnded = false;
  const connected = loadClient().then(({ connectStore }) => {
    if (!isEnded) end = connectStore(url, events);
  });
  own('connecting the state rooms with Redis', connected);
  return () => {
    isEnded = true;
    end?.();
  };
}

const DROPPED =
  'state rooms were closed with changes that Redis does not have: they are lost unless another worker has the rooms';
const LOST: Reason = {
  code: 'STATE_LOST',
  text: 'Redis has lost the state of state rooms: the servers write what they have again',
};
/** How long `/readyz` shows it, in ms. */
const LOST_MS = 600_000;
/** Each room notices it, and every connection. */
const lostLines = new Seldom(10_000);

function failed(reason: string): { answer: Promise<never>; end: Promise<unknown> } {
  return { answer: Promise.reject(new Error(reason)), end: Promise.resolve() };
}

function noAnswer(): never {
  throw new Error('Redis does not answer');
}
