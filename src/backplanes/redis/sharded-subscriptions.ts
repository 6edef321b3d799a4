import { EventEmitter } from 'node:events';
import type { Cluster, Redis, RedisOptions } from 'ioredis';
import { own } from '../../base/owner.js';
import { openRedis } from './connection.js';
import type { Rejections } from './rejections.js';
import { ShardConnection } from './shard-connection.js';

/** The reply to CLUSTER SLOTS: for each range of slots its master, then its replicas. */
type SlotsReply = [first: number, last: number, master: [host: string, port: number], ...replicas: unknown[]][];

/** How often the cluster is asked which master has which slots, in ms. */
const REFRESH_INTERVAL_MS = 5000;
/** The same while a subscription is missing. */
const RETRY_INTERVAL_MS = 500;

/**
 * The subscriptions of a backplane on a cluster, in the form of the client that socket.io's sharded adapter expects.
 * Only the master of its slot serves a sharded channel, so there is one connection to each master with channels. When
 * slots move or masters change, the channels follow.
 */
export class ShardedSubscriptions extends EventEmitter {
  private readonly wanted = new Set<string>();
  private readonly shards = new Map<string, ShardConnection>();
  /** The master of each slot, as `host:port`. */
  private owners: string[] = [];
  /** All masters with slots, as of the cluster's last answer. */
  masters: ReadonlySet<string> = new Set();
  private timer: NodeJS.Timeout | undefined;
  private isRefreshing = false;
  private isClosed = false;

  private readonly onChange: () => void;
  private readonly onError: (error: Error) => void;
  private readonly rejections: Rejections;

  /** @param events `onChange` is called when {@link isComplete} may have changed */
  constructor(
    private readonly cluster: Cluster,
    private readonly options: RedisOptions,
    events: { onChange: () => void; onError: (error: Error) => void; rejections: Rejections },
  ) {
    super();
    this.onChange = events.onChange;
    this.onError = events.onError;
    this.rejections = events.rejections;
    // Each namespace listens; the sharded adapter tells them apart by the channel.
    this.setMaxListeners(0);
    cluster.on('ready', () => this.refresh());
    cluster.on('refresh', () => this.refresh());
    this.plan();
  }

  /** Whether every master has confirmed its channels. */
  get isComplete(): boolean {
    return this.owners.length > 0 && [...this.shards.values()].every((shard) => shard.isComplete);
  }

  /** Whether a request waits for its confirmation. */
  get isPending(): boolean {
    for (const shard of this.shards.values()) if (shard.isPending) return true;
    return false;
  }

  /** Whether the master of a channel has confirmed it. */
  isConfirmed(channel: string): boolean {
    const owner = this.masterOf(channel);
    return owner !== undefined && this.shards.get(owner)?.isConfirmed(channel) === true;
  }

  *connections(): Iterable<Redis> {
    for (const shard of this.shards.values()) yield shard.redis;
  }

  /** Resolves when every request made so far is confirmed or has failed. */
  async confirmed(): Promise<void> {
    await Promise.all([...this.shards.values()].map((shard) => shard.allConfirmed()));
  }

  /** The master that serves a channel, or undefined if it is not known at present. */
  masterOf(channel: string): string | undefined {
    return this.owners[slotOf(channel)];
  }

  /** Call this when a master reports that it does not have a slot. Until the cluster has answered, no master is known. */
  relocate(): void {
    this.owners = [];
    this.emit('moved');
    this.onChange();
    this.refreshNow();
  }

  ssubscribe(channel: string): void {
    this.wanted.add(channel);
    const owner = this.masterOf(channel);
    if (owner) this.shardOf(owner).want(channel);
  }

  sunsubscribe(channel: string): void {
    this.wanted.delete(channel);
    const owner = this.masterOf(channel);
    if (owner) this.shards.get(owner)?.forget(channel);
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    for (const shard of this.shards.values()) shard.close();
    this.shards.clear();
  }

  private plan(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refreshNow(), this.isComplete ? REFRESH_INTERVAL_MS : RETRY_INTERVAL_MS).unref();
  }

  private refreshNow(): void {
    own('reading the topology of the Redis Cluster', this.refresh());
  }

  /** Asks which master has which slots, and moves the channels accordingly. */
  private async refresh(): Promise<void> {
    if (this.isRefreshing || this.isClosed) return;
    this.isRefreshing = true;
    try {
      if (this.cluster.status === 'ready') this.place((await this.cluster.call('CLUSTER', 'SLOTS')) as SlotsReply);
      this.rejections.note(['CLUSTER']);
    } catch (error) {
      this.rejections.note(['CLUSTER'], error, true);
      this.onError(error as Error);
    }
    this.isRefreshing = false;
    if (!this.isClosed) this.plan();
  }

  private place(reply: SlotsReply): void {
    if (this.isClosed) return;
    const owners: string[] = [];
    for (const [first, last, [host, port]] of reply) {
      for (let slot = first; slot <= last; slot++) owners[slot] = `${host}:${port}`;
    }
    this.owners = owners;
    this.masters = new Set(owners.filter(Boolean));
    const channels = new Map<string, Set<string>>();
    for (const channel of this.wanted) {
      const owner = this.masterOf(channel);
      if (!owner) continue;
      const its = channels.get(owner) ?? new Set();
      channels.set(owner, its.add(channel));
    }
    for (const [owner, shard] of this.shards) {
      if (channels.has(owner)) continue;
      shard.close();
      this.shards.delete(owner);
    }
    for (const [owner, its] of channels) this.shardOf(owner).replace(its);
    this.onChange();
  }

  private shardOf(owner: string): ShardConnection {
    const known = this.shards.get(owner);
    if (known) return known;
    const redis = connectTo(owner, this.options);
    redis.on('error', this.onError);
    redis.on('smessageBuffer', (...values) => this.emit('smessageBuffer', ...values));
    const shard = new ShardConnection(redis, {
      onChange: () => {
        if (![...this.shards.values()].some(({ isRejected }) => isRejected)) this.rejections.note(['SSUBSCRIBE']);
        this.onChange();
      },
      onMoved: () => {
        this.emit('moved');
        this.refreshNow();
      },
      onRejected: (error) => {
        this.rejections.note(['SSUBSCRIBE'], error, true);
        setTimeout(() => this.refreshNow(), RETRY_INTERVAL_MS).unref();
      },
    });
    this.shards.set(owner, shard);
    return shard;
  }
}

/** A connection to a master, given as `host:port`. */
export function connectTo(master: string, options: RedisOptions): Redis {
  const colon = master.lastIndexOf(':');
  const address = { host: master.slice(0, colon), port: Number(master.slice(colon + 1)) };
  return openRedis({ ...options, ...address });
}

/** How many slots a Redis Cluster has. */
const SLOTS = 16_384;

/** The slot of a channel or key. Source: Redis Cluster specification, "Key distribution model" and "Hash tags". */
function slotOf(name: string): number {
  const open = name.indexOf('{');
  const close = open === -1 ? -1 : name.indexOf('}', open + 1);
  return crc16(Buffer.from(close > open + 1 ? name.slice(open + 1, close) : name)) % SLOTS;
}

/** CRC-16/XMODEM: polynomial 0x1021, initial value 0. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  }
  return crc & 0xffff;
}
