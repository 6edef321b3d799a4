import type { Redis } from 'ioredis';
import { own } from '../../../base/owner.js';
import { ConnectionHealth } from '../connection-health.js';
import type { PubSub, PubSubListener } from '../pub-sub.js';
import { isClusterNode, observe, openClusterNode } from './connection.js';
import { Subscriptions } from './subscriptions.js';

/**
 * Pub/sub of one Redis, or of a Redis Cluster, whose nodes pass every message on to each other. Both connections keep to one node: the
 * messages of a client that takes any node for each could overtake one another.
 */
export class RedisPubSub implements PubSub {
  readonly health = new ConnectionHealth('Redis');
  private readonly publisher: Redis;
  private readonly subscriber: Redis;
  private readonly subscriptions: Subscriptions;
  private listener: PubSubListener | undefined;
  /** The present connections and subscriptions, from the moment that all of them are there. */
  private current: object | undefined;
  /** Whether Redis counts all subscriptions: a node of a cluster counts only its own, and one that does not say may be such a node. */
  private countsAll = false;

  constructor(url: string) {
    const redis = [openClusterNode(url), openClusterNode(url)] as const;
    const [publisher, subscriber] = redis;
    this.publisher = publisher;
    this.subscriber = subscriber;
    const { health } = this;
    const update = () => this.update(answers(publisher) && this.subscriptions.isRenewed);
    this.subscriptions = new Subscriptions(subscriber, update, health.rejections);
    this.subscriptions.onMessage = (channel, bytes) => this.listener?.onMessage(channel.toString(), bytes);
    const answers = observe(redis, health, update);
    publisher.on('ready', () => {
      const asked = isClusterNode(publisher).then((isNode) => {
        this.countsAll = isNode === false;
      });
      own('asking Redis whether it is a node of a cluster', asked);
    });
  }

  publish(channel: string, bytes: Buffer, messages: number): Promise<number | undefined> {
    return this.health
      .send(bytes.length, () => this.publisher.publish(channel, bytes), ['PUBLISH', channel], messages)
      .then(
        (count) => (this.countsAll ? count : undefined),
        () => undefined,
      );
  }

  subscribe(channel: string): Promise<boolean> {
    return this.subscriptions.subscribe(channel);
  }

  listen(listener: PubSubListener): void {
    this.listener = listener;
  }

  close(): void {
    // What was published before must leave first.
    if (this.publisher.status === 'ready') this.publisher.quit().catch(() => {});
    else this.publisher.disconnect();
    this.subscriber.disconnect();
  }

  /** @param isConnected whether all connections and subscriptions are there */
  private update(isConnected: boolean): void {
    if (!isConnected) {
      this.current = undefined;
      this.health.update(false);
    } else if (!this.current) {
      const begun = {};
      this.current = begun;
      const renewed = this.listener?.onRenewed().then(() => {
        if (this.current === begun) this.health.update(true);
      });
      own('finding the servers behind Redis', Promise.resolve(renewed));
    }
  }
}
