import { own, owned } from '../../base/owner.js';
import type { BackplaneEvents } from '../backplane.js';
import { ConnectionHealth } from '../connection-health.js';
import type { PubSub, PubSubListener } from '../frames/machines/pub-sub.js';
import { OtherWire, stockChannel } from '../other-wire.js';
import { connectCluster } from '../redis/cluster.js';
import { connectTo, type ShardedSubscriptions } from '../redis/sharded-subscriptions.js';
import { Publishers } from './publishers.js';
import { Renewal } from './renewal.js';

/**
 * Sharded pub/sub of a Redis Cluster. The slot of a channel decides which master serves it, so a master carries only what
 * is for its machines.
 */
export class ShardedPubSub implements PubSub {
  readonly health: ConnectionHealth;
  private readonly subscriptions: ShardedSubscriptions;
  private readonly publishers: Publishers;
  private readonly renewal: Renewal;
  private readonly otherWires: readonly OtherWire[];
  private readonly disconnect: () => void;

  /**
   * @param url one or more nodes of the cluster, separated by commas
   * @param prefix the prefix of the channels of stock servers and emitters, which are noticed
   */
  constructor(url: string, events: BackplaneEvents, prefix: string) {
    const health = new ConnectionHealth(events);
    this.health = health;
    const { cluster, subscriptions, options, update, close } = connectCluster(url, health, (isConfirmed) => {
      const isPublishable = this.publishers.follow(subscriptions.masters);
      return this.renewal.isDone(isConfirmed && isPublishable);
    });
    this.subscriptions = subscriptions;
    this.disconnect = close;
    this.publishers = new Publishers((master) => connectTo(master, options), health, update);
    this.renewal = new Renewal(health, update);
    const [sharded, classic] = [new OtherWire('redis-sharded', events), new OtherWire('redis', events)];
    this.otherWires = [sharded, classic];
    const others = stockChannel(prefix);
    const onMessage = (name: Buffer, bytes: Buffer) => {
      const channel = name.toString();
      if (channel === others) sharded.note();
      else this.renewal.listener?.onMessage(channel, bytes);
    };
    subscriptions.on('smessageBuffer', owned('reading a message of Redis', onMessage));
    subscriptions.on('moved', () => {
      health.reason ||= 'a slot has moved to another master of the cluster';
    });
    subscriptions.ssubscribe(others);
    cluster.on('pmessageBuffer', () => classic.note());
    // Frames need no classic pub/sub, so a user may lack the right to it.
    cluster.once('ready', () => cluster.psubscribe(`${others}*`).catch(() => {}));
  }

  publish(channel: string, bytes: Buffer, messages: number): Promise<number | undefined> {
    return this.health
      .send(bytes.length, () => this.send(channel, bytes), ['SPUBLISH', channel, 'x'], messages)
      .catch(() => undefined);
  }

  async subscribe(channel: string): Promise<boolean> {
    this.subscriptions.ssubscribe(channel);
    await this.subscriptions.confirmed();
    return this.subscriptions.isConfirmed(channel);
  }

  unsubscribe(channel: string): void {
    this.subscriptions.sunsubscribe(channel);
  }

  caughtUp(): Promise<unknown> {
    return Promise.all(Array.from(this.subscriptions.connections(), (redis) => redis.ping()));
  }

  listen(listener: PubSubListener): void {
    this.renewal.listener = listener;
  }

  renew(reason: string): void {
    own('renewing the subscriptions with Redis', this.renewal.restart(reason, this.subscriptions.confirmed()));
  }

  close(): void {
    for (const otherWire of this.otherWires) otherWire.close();
    this.health.close();
    this.publishers.close();
    this.disconnect();
  }

  private async send(channel: string, bytes: Buffer): Promise<number> {
    const master = this.subscriptions.masterOf(channel);
    const redis = master && this.publishers.to(master);
    if (!redis) throw new Error('the master of the channel is not known');
    try {
      return (await redis.spublish(channel, bytes)) as number;
    } catch (error) {
      if (!(error as Error).message.startsWith('MOVED')) throw error;
      // The message is lost for the receiver, but Redis has not rejected it.
      this.subscriptions.relocate();
      throw new Error('a slot has moved to another master of the cluster');
    }
  }
}
