import type { Cluster, Redis } from 'ioredis';
import { queueMicrotask } from '../../../../base/clock.js';
import { owned } from '../../../../base/owner.js';
import { within } from '../../../../base/within.js';
import { brokerReasonOf } from '../../../../cluster/backplanes/broker-cause.js';
import { type StoreClient, withStoreScript } from './fields.js';
import type { RoomStore } from './store.js';

/** How long Redis may take to answer, in ms. */
const TIMEOUT_MS = 2000;
/** Bytes that may wait for Redis at once: one that has stopped must not fill the memory. */
const MAX_PENDING_BYTES = 32 * 1024 * 1024;
/** How often Redis is asked what it is, if it did not say, in ms. */
const RETRY_MS = 1000;
/** How often rooms ask whether Redis still has what it had, in ms. With more rooms, each asks less often. */
const CHECK_MS = 1000;
const ROOMS_PER_CHECK = 200;
const NOT_CONNECTED = 'not connected';
/** How many checks the first connection has. A start on a busy machine takes seconds; an address without Redis is an error sooner. */
const MAX_FIRST_CHECKS = 4;

/** The connection that the rooms with the same Redis share. */
export class StoreConnection {
  private readonly rooms = new Set<RoomStore>();
  private client: StoreClient | undefined;
  private pendingBytes = 0;
  /** Why there is no connection. Until the first one, undefined means that it is being made. */
  private reason: string | undefined;
  private wasReady = false;
  private firstChecks = 0;
  private readonly timer: NodeJS.Timeout;
  private retry: NodeJS.Timeout | undefined;
  private isEnded = false;
  private next: RoomStore[] = [];

  /** @param onClosed called when the last room is gone */
  private constructor(
    private readonly redis: string | Redis | Cluster,
    private readonly onClosed: () => void,
  ) {
    this.timer = setInterval(() => this.checkSome(), CHECK_MS).unref();
    if (typeof redis === 'string') this.connect(redis);
    else {
      this.client = withStoreScript(redis);
      redis.on('ready', this.onReady);
      if (redis.status === 'ready') queueMicrotask(this.onReady);
    }
  }

  /** The connection to a Redis, which all rooms of this process with the same URL or client share. */
  static to(redis: string | Redis | Cluster): StoreConnection {
    const connection = connections.get(redis) ?? new StoreConnection(redis, () => connections.delete(redis));
    connections.set(redis, connection);
    return connection;
  }

  /** Whether it connects for the first time, which takes a moment and is no outage. */
  get isConnecting(): boolean {
    return !this.wasReady && this.reason === undefined && this.client?.status !== 'ready';
  }

  add(room: RoomStore): void {
    this.rooms.add(room);
    if (this.client?.status === 'ready') queueMicrotask(() => this.rooms.has(room) && room.onReady());
  }

  remove(room: RoomStore): void {
    if (!this.rooms.delete(room) || this.rooms.size > 0) return;
    this.isEnded = true;
    clearInterval(this.timer);
    clearTimeout(this.retry);
    if (typeof this.redis === 'string') this.client?.disconnect();
    else this.redis.off('ready', this.onReady);
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

  /**
   * Connects with the Redis, or the Redis Cluster, of a URL. A Redis that does not answer is disconnected after a few
   * seconds, so that what was sent to it does not wait forever.
   */
  private readonly connect = owned('connecting the state rooms with Redis', async (url: string) => {
    const { isClusterUrl, openCluster, openRedis } = await loadClient();
    let reason = '';
    const isCluster = await isClusterUrl(url, (error) => {
      reason ||= brokerReasonOf(error);
    });
    if (this.isEnded) return;
    if (isCluster === undefined) {
      this.reason = reason;
      this.retry = setTimeout(this.connect, RETRY_MS, url).unref();
      return;
    }
    // Connections to Sentinel would outlive everything else.
    const client = isCluster ? openCluster(url) : openRedis(url, { failoverDetector: false });
    const onError = (error: Error) => {
      this.reason = brokerReasonOf(error);
    };
    for (const event of ['error', 'node error']) client.on(event, onError);
    for (const event of ['ready', '+node']) client.on(event, this.onReady);
    if (client.isCluster) client.on('+node', outlivesNothing);
    else outlivesNothing(client as Redis);
    this.client = withStoreScript(client);
  });

  private readonly onReady = (): void => {
    this.wasReady = true;
    this.reason = undefined;
    for (const room of this.rooms) room.onReady();
  };

  private checkSome(): void {
    if (this.isConnecting && ++this.firstChecks >= MAX_FIRST_CHECKS) this.reason = NOT_CONNECTED;
    if (this.isConnecting) return;
    if (this.next.length === 0) this.next = [...this.rooms];
    for (const room of this.next.splice(0, ROOMS_PER_CHECK)) if (this.rooms.has(room)) room.check();
  }
}

const connections = new Map<string | Redis | Cluster, StoreConnection>();

let client: Promise<typeof import('../../../../cluster/backplanes/redis/connection.js')> | undefined;

/** Only a process that stores rooms loads the client of Redis. */
export function loadClient(): NonNullable<typeof client> {
  client ??= import('../../../../cluster/backplanes/redis/connection.js');
  return client;
}

/** A process whose servers are closed ends, also if the application has not closed its rooms. */
function outlivesNothing(redis: Redis): void {
  redis.on('connect', () => redis.stream.unref());
}

function failed(reason: string): { answer: Promise<never>; end: Promise<unknown> } {
  return { answer: Promise.reject(new Error(reason)), end: Promise.resolve() };
}

function noAnswer(): never {
  throw new Error('Redis does not answer');
}
