import type { Redis } from 'ioredis';
import { own } from '../../../base/owner.js';
import type { BackplaneEvents } from '../backplane.js';
import { ConnectionHealth } from '../connection-health.js';
import { OtherWire, stockChannel } from '../other-wire.js';
import type { PubSub, PubSubListener } from '../pub-sub.js';
import { observe } from './classic.js';
import { openRedis } from './connection.js';
import { ShardedChannels } from './sharded-channels.js';
import { Subscriptions } from './subscriptions.js';

/** Keeps the listener of a pub/sub, and tells it whenever all connections and subscriptions are there, for the first time or again. */
class Renewal {
  listener: PubSubListener | undefined;
  /** The present connections and subscriptions, from the moment that all of them are there. */
  private current: { isDone: boolean } | undefined;

  /** @param onDone called when {@link isDone} may have changed */
  constructor(private readonly onDone: () => void) {}

  /**
   * Whether the listener has finished.
   * @param isConnected whether all connections and subscriptions are there
   */
  isDone(isConnected: boolean): boolean {
    if (!isConnected) this.current = undefined;
    else if (!this.current) {
      const begun = { isDone: false };
      this.current = begun;
      own('finding the servers behind Redis', this.begin(begun));
    }
    return this.current?.isDone === true;
  }

  private async begin(begun: { isDone: boolean }): Promise<void> {
    if (!this.listener) return;
    await this.listener.onRenewed();
    begun.isDone = true;
    this.onDone();
  }
}

/** Pub/sub of one Redis. */
export class RedisPubSub implements PubSub {
  readonly health: ConnectionHealth;
  private readonly publisher: Redis;
  private readonly subscriber: Redis;
  private readonly subscriptions: Subscriptions;
  private readonly renewal: Renewal;
  private readonly otherWire: OtherWire;

  /** @param prefix the prefix of the channels of stock servers and emitters, if they are to be noticed */
  constructor(url: string, events: BackplaneEvents, prefix: string | undefined) {
    const redis = [openRedis(url), openRedis(url)] as const;
    const [publisher, subscriber] = redis;
    this.publisher = publisher;
    this.subscriber = subscriber;
    const health = new ConnectionHealth(events);
    this.health = health;
    const update = () => {
      health.update(this.renewal.isDone(answers(publisher) && this.subscriptions.isRenewed));
    };
    this.renewal = new Renewal(update);
    this.otherWire = new OtherWire('redis', events);
    this.subscriptions = new Subscriptions(subscriber, update, health.rejections, (channel, bytes, isClassic) => {
      if (isClassic) this.otherWire.note();
      else this.renewal.listener?.onMessage(channel.toString(), bytes);
    });
    // The pattern of `BUS=redis`, so that a user with the rights for that can use frames.
    if (prefix !== undefined) {
      own('subscribing to the channels of other servers', this.subscriptions.psubscribe(`${stockChannel(prefix)}*`));
    }
    const answers = observe(redis, health, update);
  }

  publish(channel: string, bytes: Buffer, messages: number): Promise<number | undefined> {
    return this.health
      .send(bytes.length, () => this.publisher.publish(channel, bytes), ['PUBLISH', channel], messages)
      .catch(() => undefined);
  }

  subscribe(channel: string): Promise<boolean> {
    return this.subscriptions.subscribe(channel);
  }

  listen(listener: PubSubListener): void {
    this.renewal.listener = listener;
  }

  close(): void {
    this.otherWire.close();
    // What was published before must leave first.
    if (this.publisher.status === 'ready') this.publisher.quit().catch(() => {});
    else this.publisher.disconnect();
    this.subscriber.disconnect();
  }
}

/**
 * Sharded pub/sub of a Redis Cluster. The slot of a channel decides which master serves it, so a master carries only what
 * is for its machines.
 */
export class ShardedPubSub implements PubSub {
  readonly health: ConnectionHealth;
  private readonly channels: ShardedChannels;
  private readonly renewal: Renewal;
  private readonly otherWires: readonly OtherWire[];

  /**
   * @param url one or more nodes of the cluster, separated by commas
   * @param prefix the prefix of the channels of stock servers and emitters, which are noticed
   */
  constructor(url: string, events: BackplaneEvents, prefix: string) {
    const health = new ConnectionHealth(events);
    this.health = health;
    const update = () => health.update(this.renewal.isDone(this.channels.isComplete));
    this.renewal = new Renewal(update);
    const [sharded, classic] = [new OtherWire('redis-sharded', events), new OtherWire('redis', events)];
    this.otherWires = [sharded, classic];
    const others = stockChannel(prefix);
    this.channels = new ShardedChannels(url, health, {
      onChange: update,
      onMessage: (channel, bytes) => {
        if (channel === others) sharded.note();
        else this.renewal.listener?.onMessage(channel, bytes);
      },
      onClient: (cluster) => {
        cluster.on('pmessageBuffer', () => classic.note());
        // Frames need no classic pub/sub, so a user may lack the right to it.
        cluster.once('ready', () => cluster.psubscribe(`${others}*`).catch(() => {}));
      },
    });
    own('subscribing to the channels of other servers', this.channels.subscribe(others));
  }

  publish(channel: string, bytes: Buffer, messages: number): Promise<number | undefined> {
    return this.health
      .send(bytes.length, () => this.channels.publish(channel, bytes), ['SPUBLISH', channel], messages)
      .catch(() => undefined);
  }

  subscribe(channel: string): Promise<boolean> {
    return this.channels.subscribe(channel);
  }

  listen(listener: PubSubListener): void {
    this.renewal.listener = listener;
  }

  close(): void {
    for (const otherWire of this.otherWires) otherWire.close();
    this.channels.close();
  }
}
