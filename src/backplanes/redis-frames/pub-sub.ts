import type { Redis } from 'ioredis';
import { own } from '../../base/owner.js';
import type { BackplaneEvents } from '../backplane.js';
import { ConnectionHealth } from '../connection-health.js';
import type { PubSub, PubSubListener } from '../frames/machines/pub-sub.js';
import { OtherWire, stockChannel } from '../other-wire.js';
import { observe } from '../redis/classic.js';
import { openRedis } from '../redis/connection.js';
import { Subscriptions } from '../redis/subscriptions.js';
import { Renewal } from './renewal.js';

/** Pub/sub of one Redis. */
export class RedisPubSub implements PubSub {
  readonly health: ConnectionHealth;
  private readonly publisher: Redis;
  private readonly subscriber: Redis;
  private readonly subscriptions: Subscriptions;
  private readonly renewal: Renewal;
  private readonly otherWire: OtherWire;

  /** @param prefix the prefix of the channels of stock servers and emitters, which are noticed */
  constructor(url: string, events: BackplaneEvents, prefix: string) {
    const redis = [openRedis(url), openRedis(url)] as const;
    const [publisher, subscriber] = redis;
    this.publisher = publisher;
    this.subscriber = subscriber;
    const health = new ConnectionHealth(events);
    this.health = health;
    const update = () => {
      health.update(this.renewal.isDone(answers(publisher) && this.subscriptions.isRenewed));
    };
    this.renewal = new Renewal(health, update);
    this.otherWire = new OtherWire('redis', events);
    this.subscriptions = new Subscriptions(subscriber, update, health.rejections, (channel, bytes, isClassic) => {
      if (isClassic) this.otherWire.note();
      else this.renewal.listener?.onMessage(channel.toString(), bytes);
    });
    // The pattern of `BUS=redis`, so that a user with the rights for that can use frames.
    own('subscribing to the channels of other servers', this.subscriptions.psubscribe(`${stockChannel(prefix)}*`));
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

  unsubscribe(channel: string): void {
    this.subscriptions.unsubscribe(channel);
  }

  caughtUp(): Promise<unknown> {
    return this.subscriber.ping();
  }

  listen(listener: PubSubListener): void {
    this.renewal.listener = listener;
  }

  renew(reason: string): void {
    own('renewing the subscriptions with Redis', this.renewal.restart(reason, this.subscriptions.confirmed()));
  }

  close(): void {
    this.otherWire.close();
    // What was published before must leave first.
    if (this.publisher.status === 'ready') this.publisher.quit().catch(() => {});
    else this.publisher.disconnect();
    this.subscriber.disconnect();
  }
}
