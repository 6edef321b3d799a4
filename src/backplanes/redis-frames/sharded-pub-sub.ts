import { own } from '../../base/owner.js';
import type { BackplaneEvents } from '../backplane.js';
import { ConnectionHealth } from '../connection-health.js';
import type { PubSub, PubSubListener } from '../frames/machines/pub-sub.js';
import { OtherWire, stockChannel } from '../other-wire.js';
import { ShardedChannels } from '../redis/sharded-channels.js';
import { Renewal } from './renewal.js';

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
    this.renewal = new Renewal(health, update);
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

  unsubscribe(channel: string): void {
    this.channels.unsubscribe(channel);
  }

  caughtUp(): Promise<unknown> {
    return this.channels.caughtUp();
  }

  listen(listener: PubSubListener): void {
    this.renewal.listener = listener;
  }

  renew(reason: string): void {
    this.channels.lost(reason);
  }

  close(): void {
    for (const otherWire of this.otherWires) otherWire.close();
    this.channels.close();
  }
}
