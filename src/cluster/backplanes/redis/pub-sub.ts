import type { Redis } from 'ioredis';
import { own } from '../../../base/owner.js';
import { ConnectionHealth } from '../connection-health.js';
import type { PubSub, PubSubListener } from '../pub-sub.js';
import { isClusterNode, observe, openNode } from './connection.js';
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

/**
 * Pub/sub of one Redis, or of a Redis Cluster, whose nodes pass every message on to each other. Both connections keep to one node: the
 * messages of a client that takes any node for each could overtake one another.
 */
export class RedisPubSub implements PubSub {
  readonly health = new ConnectionHealth('Redis');
  private readonly publisher: Redis;
  private readonly subscriber: Redis;
  private readonly subscriptions: Subscriptions;
  private readonly renewal: Renewal;
  /** Whether Redis counts all subscriptions: a node of a cluster counts only its own, and one that does not say may be such a node. */
  private countsAll = false;

  constructor(url: string) {
    const redis = [openNode(url), openNode(url)] as const;
    const [publisher, subscriber] = redis;
    this.publisher = publisher;
    this.subscriber = subscriber;
    const { health } = this;
    const update = () => {
      health.update(this.renewal.isDone(answers(publisher) && this.subscriptions.isRenewed));
    };
    this.renewal = new Renewal(update);
    this.subscriptions = new Subscriptions(subscriber, update, health.rejections);
    this.subscriptions.onMessage = (channel, bytes) => this.renewal.listener?.onMessage(channel.toString(), bytes);
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
    this.renewal.listener = listener;
  }

  close(): void {
    // What was published before must leave first.
    if (this.publisher.status === 'ready') this.publisher.quit().catch(() => {});
    else this.publisher.disconnect();
    this.subscriber.disconnect();
  }
}
