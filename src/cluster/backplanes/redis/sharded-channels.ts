import type { Cluster } from 'ioredis';
import { own } from '../../../base/owner.js';
import { isConnectionRejected, reasonOf } from '../broker-cause.js';
import { type ConnectionHealth, isRejection } from '../connection-health.js';
import { openCluster } from './connection.js';

/** How often the subscriptions are checked, in ms. */
const CHECK_INTERVAL_MS = 1000;
/** How long to wait until failed subscriptions are made again, in ms. */
const RETRY_INTERVAL_MS = 250;

const MOVED = 'a slot has moved to another master of the cluster';

interface ShardedListener {
  /** {@link ShardedChannels.isComplete} may have changed. */
  onChange(): void;
  onMessage(channel: string, bytes: Buffer): void;
}

/**
 * A worker's channels on a Redis Cluster. ioredis subscribes to each channel at the master of its slot, and follows the slot.
 * It reports neither confirmations nor losses, and may miss a slot that comes back. So each master is asked how many
 * subscriptions it has, and everything is subscribed to again when that number changes or a connection ends.
 */
export class ShardedChannels {
  /** Whether all masters answer, and all subscriptions are confirmed. */
  isComplete = false;
  private cluster: Cluster;
  /** The channels, with the number of subscriptions on the connection of each. */
  private readonly channels = new Map<string, number>();
  /** Counts changes of the subscriptions. What was asked before a change does not count. */
  private version = 0;
  private isRenewing = false;
  private isClosed = false;
  private readonly timer: NodeJS.Timeout;

  /** @param url one or more nodes of the cluster, separated by commas */
  constructor(
    private readonly url: string,
    private readonly health: ConnectionHealth,
    private readonly listener: ShardedListener,
  ) {
    this.cluster = this.open();
    this.timer = setInterval(() => this.check(), CHECK_INTERVAL_MS).unref();
  }

  private open(): Cluster {
    const cluster = openCluster(
      this.url,
      {},
      {
        shardedSubscribers: true,
        // Otherwise it asks for the slots whether they have moved or not, and this cannot be told from a loss.
        slotsRefreshInterval: 0,
        // A message that is sent again could arrive twice, or after later ones.
        maxRedirections: 0,
        // One that connects again after it has lost all nodes may never subscribe again.
        clusterRetryStrategy: () => null,
      },
    );
    const onError = (error: Error) => {
      this.health.reason = reasonOf(error);
      this.listener.onChange();
    };
    cluster.on('error', onError);
    cluster.on('node error', onError);
    cluster.on('ready', () => this.lost(''));
    cluster.on('-node', () => this.lost('the connection was closed'));
    cluster.on('close', () => this.lost('the connection was closed'));
    cluster.on('end', () => this.reopen());
    cluster.on('refresh', () => this.check());
    cluster.on('smessageBuffer', (channel: Buffer, bytes: Buffer) =>
      this.listener.onMessage(channel.toString(), bytes),
    );
    return cluster;
  }

  private reopen(): void {
    if (this.isClosed) return;
    const open = () => {
      if (!this.isClosed) this.cluster = this.open();
    };
    setTimeout(open, RETRY_INTERVAL_MS).unref();
  }

  /** @returns whether Redis has confirmed it. If not, it does so before it is complete again. */
  async subscribe(channel: string): Promise<boolean> {
    this.channels.set(channel, 0);
    await this.change(() => this.cluster.ssubscribe(channel));
    return this.isComplete;
  }

  /** Publishes once: a message for a slot that has moved is lost. */
  async publish(channel: string, bytes: Buffer): Promise<number> {
    try {
      return (await this.cluster.spublish(channel, bytes)) as number;
    } catch (error) {
      const answer = answerIn(error);
      if (!/^(MOVED|CLUSTERDOWN)/.test(answer.message)) throw answer;
      this.lost(MOVED);
      throw new Error(MOVED);
    }
  }

  /** Messages may have been lost: subscribes to all channels again. */
  private lost(reason: string): void {
    if (this.isClosed) return;
    this.version++;
    // Connections that end before all are there are no outage.
    if (this.isComplete) this.health.reason ||= reason;
    this.isComplete = false;
    this.listener.onChange();
    own('subscribing with the Redis Cluster', this.renew());
  }

  close(): void {
    this.isClosed = true;
    clearInterval(this.timer);
    // What was published before must leave first.
    if (this.cluster.status === 'ready') this.cluster.quit().catch(() => {});
    else this.cluster.disconnect();
  }

  private async change(act: () => Promise<unknown>): Promise<void> {
    const version = ++this.version;
    if (!this.isComplete) return;
    try {
      await act();
      const counts = await this.countAll();
      if (version === this.version) this.adopt(counts);
    } catch (error) {
      this.noteFailure(error);
      this.lost('');
    }
  }

  private check(): void {
    if (!this.isComplete || this.isRenewing) return;
    own('asking the Redis Cluster for its subscriptions', this.compare(this.version));
  }

  private async compare(version: number): Promise<void> {
    let loss: string | undefined;
    try {
      const counts = await this.countAll();
      if ([...counts].some(([channel, count]) => this.channels.get(channel) !== count)) loss = MOVED;
    } catch (error) {
      loss = reasonOf(answerIn(error));
    }
    if (loss !== undefined && version === this.version) this.lost(loss.startsWith('MOVED') ? MOVED : loss);
  }

  private async renew(): Promise<void> {
    if (this.isComplete || this.isRenewing || this.isClosed || this.cluster.status !== 'ready') return;
    this.isRenewing = true;
    const { version } = this;
    try {
      await new Promise<void>((resolve, reject) => {
        this.cluster.refreshSlotsCache((error) => (error ? reject(error) : resolve()));
      });
      await Promise.all(Array.from(this.channels.keys(), (channel) => this.subscribeAgain(channel)));
      const counts = await this.countAll();
      this.health.rejections.note(['SSUBSCRIBE']);
      if (version === this.version) this.adopt(counts);
    } catch (error) {
      this.noteFailure(error);
    }
    this.isRenewing = false;
    if (this.isComplete) this.listener.onChange();
    else if (!this.isClosed)
      setTimeout(() => own('subscribing with the Redis Cluster', this.renew()), RETRY_INTERVAL_MS).unref();
  }

  /** Without unsubscribing, ioredis would note the channel once more. */
  private async subscribeAgain(channel: string): Promise<void> {
    const { cluster } = this;
    await Promise.all([cluster.sunsubscribe(channel), cluster.ssubscribe(channel)]);
  }

  private adopt(counts: ReadonlyMap<string, number>): void {
    for (const [channel, count] of counts) this.channels.set(channel, count);
    this.isComplete = true;
  }

  private noteFailure(error: unknown): void {
    const answer = answerIn(error);
    if (isRejection(answer)) this.health.rejections.note(['SSUBSCRIBE'], answer);
    else this.health.reason ||= reasonOf(answer);
    this.listener.onChange();
  }

  /**
   * Asks each master for the number of subscriptions on the connection of each channel. The answer follows all messages
   * that the master has sent before. It is the answer to unsubscribing from a channel that does not exist, in the same slot.
   */
  private async countAll(): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    const count = async (channel: string) => {
      counts.set(channel, (await this.cluster.sunsubscribe(`{${channel}}`)) as number);
    };
    await Promise.all([...Array.from(this.channels.keys(), count), ...this.cluster.nodes('master').map(answers)]);
    return counts;
  }
}

/** A master that rejects the command has answered, too, unless it rejects everything. */
async function answers(node: { ping(): Promise<unknown> }): Promise<void> {
  await node.ping().catch((error: Error) => {
    if (error.name !== 'ReplyError' || isConnectionRejected(error.message)) throw error;
  });
}

/** The answer of a node, which ioredis wraps if it may not follow redirections. */
function answerIn(error: unknown): Error {
  const [, name, message] = /Last error: (\w+): (.*)/s.exec((error as Error).message) ?? [];
  return name ? Object.assign(new Error(message), { name }) : (error as Error);
}
